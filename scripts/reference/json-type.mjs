import { code, listed } from './markdown.mjs';

/** The type of a value in words: `number, above 0, at most 604,800`. */
export function typeOf(schema) {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(', or ');
  if ('const' in schema) return code(JSON.stringify(schema.const));
  if (schema.enum) return listed(schema.enum, 'or');
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type })).join(' or ');
  switch (schema.type) {
    case 'string':
      return withLimits(schema.format === 'uri' ? 'address' : 'text', [
        lengths(schema.minLength, schema.maxLength, 'character')
      ]);
    case 'integer':
      return withLimits('whole number', [range(schema)]);
    case 'number':
      return withLimits('number', [range(schema)]);
    case 'boolean':
      return '`true` or `false`';
    case 'null':
      return code('null');
    case 'array':
      return withLimits(`list of ${several(schema.items ?? {})}`, [
        lengths(schema.minItems, schema.maxItems, 'item')
      ]);
    case 'object':
      return mapOf(schema);
    default:
      return 'any JSON';
  }
}

function withLimits(kind, limits) {
  return [kind, ...limits.filter(Boolean)].join(', ');
}

function several(items) {
  if (items.anyOf) return items.anyOf.map(several).join(' or ');
  if (items.type === 'object') return 'objects';
  if (items.type === 'string' && !items.enum) return 'texts';
  return typeOf(items);
}

function mapOf({ properties, additionalProperties: others }) {
  if (properties || typeof others !== 'object') return 'object';
  const { type } = others;
  return type === 'string' ? 'texts by name' : 'objects by name';
}

function lengths(least, most, unit) {
  const units = (count) => `${count} ${unit}${count === '1' ? '' : 's'}`;
  if (least > 1 && most)
    return `${formatted(least)} to ${units(formatted(most))}`;
  if (least > 1) return `at least ${units(formatted(least))}`;
  return [
    least === 1 && 'not empty',
    most && `at most ${units(formatted(most))}`
  ]
    .filter(Boolean)
    .join(', ');
}

function range({ minimum, exclusiveMinimum, maximum }) {
  // The largest safe integer of JavaScript is the default, not a limit.
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && most !== undefined)
    return `${formatted(minimum)} to ${formatted(most)}`;
  return [
    minimum !== undefined && `${formatted(minimum)} or more`,
    exclusiveMinimum !== undefined && `above ${formatted(exclusiveMinimum)}`,
    most !== undefined && `at most ${formatted(most)}`
  ]
    .filter(Boolean)
    .join(', ');
}

function formatted(number) {
  return number.toLocaleString('en-US');
}

/** The default as JSON. */
export function defaultOf({ default: value }) {
  return value === undefined ? undefined : code(JSON.stringify(value));
}
