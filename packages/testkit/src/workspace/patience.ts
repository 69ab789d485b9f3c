/** How many times longer than on an idle machine something may take: `SKERRY_TEST_PATIENCE`, for a machine that does other work too. */
export const patience = Number(process.env.SKERRY_TEST_PATIENCE ?? 1);
