import { parseSync } from 'rolldown/utils';
import { isProduct, sourceFiles } from '../kit/judges/source-files.ts';

export interface ShownText {
  path: string;
  text: string;
}

/**
 * The literals of src/ and plugins/ that are likely shown to a user or a model:
 * those of more than three words.
 */
export function shownTexts(): ShownText[] {
  return sourceFiles('src', 'plugins')
    .filter(isProduct)
    .filter(({ path }) => !path.includes('/fixtures/'))
    .flatMap(({ path, text }) =>
      literalsIn(parseSync(path, text).program)
        .filter((literal) => literal.trim().split(/\s+/).length > 3)
        .map((literal) => ({ path, text: literal }))
    );
}

/** String literals, and template literals with `…` for their expressions. */
export function literalsIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(literalsIn);
  if (typeof node !== 'object' || node === null) return [];
  const inner = Object.values(node).flatMap(literalsIn);
  if (!('type' in node)) return inner;
  if (node.type === 'Literal' && 'value' in node)
    return typeof node.value === 'string' ? [node.value] : [];
  if (node.type === 'TemplateLiteral' && 'quasis' in node)
    return [cookedOf(node.quasis).join('…'), ...inner];
  return inner;
}

function cookedOf(quasis: unknown): string[] {
  return Array.isArray(quasis)
    ? quasis.map((quasi) => String(quasi.value?.cooked))
    : [];
}
