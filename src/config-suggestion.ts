import { z } from 'zod';
import { didYouMean } from './core/nearest.ts';

/** What may be meant by the first key that there is not; empty without one. */
export function suggestionFor(
  schema: z.ZodType,
  issues: z.core.$ZodIssue[]
): string {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys');
  if (issue?.code !== 'unrecognized_keys') return '';
  return didYouMean(issue.keys[0] ?? '', keysAt(schema, issue.path));
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
