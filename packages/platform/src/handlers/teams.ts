import { ApiError, invalid } from '@skerry/contract/error';
import { listTeamSteps, type TeamStep } from '../samples/team-metrics.ts';
import { type Scope, toOwnProject } from '../store/scope.ts';
import type { HandlerContext, PlatformHandlers } from './platform-handlers.ts';

type TeamRoute = 'GET /teams' | 'GET /teams/{teamID}/metrics' | 'GET /teams/{teamID}/metrics/max';

const HOUR_SECONDS = 3600;

const toTimes = (at: number) => ({
  timestamp: new Date(at).toISOString(),
  timestampUnix: Math.floor(at / 1000),
});

/** Handlers of the team of a caller: its project, or `local`, which then stands for all. */
export const createTeamHandlers = ({
  store,
  clock,
}: Pick<HandlerContext, 'store' | 'clock'>): Pick<PlatformHandlers, TeamRoute> => {
  const listSteps = async (
    teamId: string,
    query: { start?: number; end?: number },
    scope: Scope,
  ): Promise<TeamStep[]> => {
    const team = toOwnProject(scope);
    if (teamId !== team)
      throw new ApiError('permission_denied', `the key belongs to the team "${team}", not to "${teamId}"`);
    const now = clock.now();
    const { end = Math.floor(now / 1000), start = Math.max(0, end - HOUR_SECONDS) } = query;
    if (start > end) throw invalid(`query.start must not be after query.end, got ${start} and ${end}`);
    return listTeamSteps(store, { scope, from: start * 1000, to: end * 1000, now });
  };

  return {
    'GET /teams': ({ context: { apiKey, scope } }) => {
      const name = toOwnProject(scope);
      return { status: 200, body: [{ teamID: name, name, apiKey, isDefault: true }] };
    },
    'GET /teams/{teamID}/metrics': async ({ params, query, context: { scope } }) => {
      const steps = await listSteps(params.teamID, query, scope);
      const body = steps.map(({ at, concurrent, startRate }) => ({
        ...toTimes(at),
        concurrentSandboxes: concurrent,
        sandboxStartRate: startRate,
      }));
      return { status: 200, body };
    },
    'GET /teams/{teamID}/metrics/max': async ({ params, query, context: { scope } }) => {
      const name = query.metric === 'concurrent_sandboxes' ? 'concurrent' : 'startRate';
      const steps = await listSteps(params.teamID, query, scope);
      const [first = { at: clock.now(), concurrent: 0, startRate: 0 }] = steps;
      const { at, [name]: value } = steps.reduce(
        (best, step) => (step[name] > best[name] ? step : best),
        first,
      );
      return { status: 200, body: { ...toTimes(at), value } };
    },
  };
};
