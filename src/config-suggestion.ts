import { z } from 'zod';
import { didYouMean } from './core/nearest.ts';

/**
 * What may be meant by the first key that there is not, else by the first
 * word that is none of a list; empty without one.
 */
export function suggestionFor(
  schema: z.ZodType,
  issues: z.core.$ZodIssue[],
  written: unknown
): string {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys');
  if (issue?.code === 'unrecognized_keys')
    return didYouMean(issue.keys[0] ?? '', keysAt(schema, issue.path));
  const choice = issues.find(({ code }) => code === 'invalid_value');
  if (choice?.code !== 'invalid_value') return '';
  const word = valueAt(written, choice.path);
  return typeof word === 'string'
    ? didYouMean(word, choice.values.map(String))
    : '';
}

function valueAt(whole: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null
        ? Reflect.get(value, name)
        : undefined,
    whole
  );
}

/** The keys that a value may have at a path. */
function keysAt(schema: unknown, path: PropertyKey[]): string[] {
  if (
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault
  )
    return keysAt(schema.unwrap(), path);
  // Of "either … or" the last is the fullest form.
  if (schema instanceof z.ZodUnion) return keysAt(schema.options.at(-1), path);
  const [name, ...rest] = path;
  if (schema instanceof z.ZodRecord) return keysAt(schema.valueType, rest);
  if (!(schema instanceof z.ZodObject)) return [];
  return name === undefined
    ? Object.keys(schema.shape)
    : keysAt(schema.shape[String(name)], rest);
}
