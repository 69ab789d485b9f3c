import { type ApiError, invalid, notFound } from '@skerry/contract/error';
import { toBuildId } from '../../ids.ts';
import type { TemplateRow } from '../../store/rows.ts';
import type { HandlerContext, PlatformHandlers } from '../platform-handlers.ts';
import { toImageId } from '../template-replies.ts';
import { requireOwner, requireOwnTemplate, requireTemplate, requireTemplateState } from './find-template.ts';
import { DEFAULT_TAG, parseNewTag } from './template-reference.ts';

type TagRoute = 'POST /templates/tags' | 'DELETE /templates/tags' | 'GET /templates/{templateID}/tags';

const parseTags = (tags: readonly string[]): string[] => [
  ...new Set(tags.map((tag, index) => parseNewTag(`body.tags[${index}]`, tag))),
];

/** The error for a template whose tags are not those of builds. */
const unchangeable = ({ kind }: TemplateRow, field: string, text: string): ApiError => {
  const what = kind === 'snapshot' ? 'is a snapshot' : 'belongs to this installation';
  return invalid(`${field}: "${text}" ${what}, and its tags cannot be changed`);
};

/** Handlers that list, move and delete the tags of a template. */
export const createTagHandlers = (
  context: Pick<HandlerContext, 'store' | 'templateBuilder' | 'clock'>,
): Pick<PlatformHandlers, TagRoute> => {
  const { store, templateBuilder, clock } = context;

  return {
    'POST /templates/tags': async ({ body, context: { scope } }) => {
      const { template, build } = await requireTemplateState({ store, scope }, body.target, 'body.target');
      requireOwner(template, scope, body.target);
      if (build === null) throw unchangeable(template, 'body.target', body.target);
      const tags = parseTags(body.tags);
      const isAssigned = await store.assignTags({ buildId: build.id, tags, at: clock.now() });
      // Deleted since the lookup.
      if (!isAssigned) throw notFound(`template "${body.target}" was not found`);
      templateBuilder.collectSoon();
      return { status: 201, body: { tags, buildID: toBuildId(build.id) } };
    },
    'DELETE /templates/tags': async ({ body, context: { scope } }) => {
      const template = await requireOwnTemplate({ store, scope }, body.name, 'body.name');
      if (template.kind !== 'build') throw unchangeable(template, 'body.name', body.name);
      const tags = parseTags(body.tags);
      if (tags.includes(DEFAULT_TAG))
        throw invalid(`body.tags: the tag "${DEFAULT_TAG}" cannot be deleted; delete the template instead`);
      const unknown = await store.deleteTags({ templateId: template.id, tags });
      if (unknown !== undefined) throw notFound(`template "${body.name}" has no tag "${unknown}"`);
      templateBuilder.collectSoon();
      return { status: 204 };
    },
    'GET /templates/{templateID}/tags': async ({ params, context: { scope } }) => {
      const template = await requireTemplate({ store, scope }, params.templateID, 'path.templateID');
      const toTag = (tag: string, id: string, setAt: number) => ({
        tag,
        buildID: toBuildId(id),
        createdAt: new Date(setAt).toISOString(),
      });
      if (template.kind === 'image')
        return { status: 200, body: [toTag(DEFAULT_TAG, toImageId(template.id), template.createdAt)] };
      if (template.kind === 'snapshot') {
        const rows = await store.listSnapshots({ templateId: template.id });
        return { status: 200, body: rows.map((row) => toTag(row.tag, row.id, row.createdAt)) };
      }
      const tags = await store.listBuildTags(template.id);
      return {
        status: 200,
        body: tags.map(({ tag, buildId, assignedAt }) => toTag(tag, buildId, assignedAt)),
      };
    },
  };
};
