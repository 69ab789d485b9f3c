import type { BaseRecipe } from './recipe.ts';

/**
 * A command for the shell of an image that makes the locales of a recipe and enters them where `locale-gen` finds them again. It
 * contains no single quote, and succeeds where there is nothing to do.
 */
export const addLocales = ({ locales }: BaseRecipe): string =>
  locales.length === 0
    ? 'true'
    : `printf "%s UTF-8\\n" ${locales.join(' ')} >> /etc/locale.gen && locale-gen`;
