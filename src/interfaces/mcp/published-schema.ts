import { z } from 'zod';

type Schema = z.core.JSONSchema.BaseSchema;

/**
 * What a client is told of a shape. Every word of it costs each conversation
 * of each client, so it has what a model needs to make a call: names, types,
 * choices, defaults. How long a text or a list may be and what letters it may
 * have is checked by us all the same, and who passes it is told by name.
 */
export function publishedSchema(shape: z.ZodObject): Schema {
  const { $schema, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    override: ({ jsonSchema }) => withoutNoise(jsonSchema)
  });
  return schema;
}

function withoutNoise(schema: Schema): void {
  for (const limit of unsaid) delete schema[limit];
  shortNull(schema);
  // Seconds have limits against nonsense only; a count has real ones.
  if ([schema.type].flat().includes('number')) withoutRange(schema);
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  const { additionalProperties: others } = schema;
  // What is not said is allowed anyway: `{}` for it is more words.
  if (typeof others === 'object' && Object.keys(others).length === 0)
    delete schema.additionalProperties;
}

const unsaid = [
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'propertyNames'
] as const;

function withoutRange(schema: Schema): void {
  delete schema.minimum;
  delete schema.exclusiveMinimum;
  delete schema.maximum;
}

/** A value or null, in fewer words: clients refuse what a schema does not say. */
function shortNull(schema: Schema): void {
  const { anyOf } = schema;
  if (!anyOf?.some(({ type }) => type === 'null')) return;
  const [only, ...others] = anyOf.filter(({ type }) => type !== 'null');
  // The choices of an enum would have to have null among them, too.
  if (only?.type === undefined || only.enum || others.length > 0) return;
  delete schema.anyOf;
  Object.assign(schema, only, { type: [only.type, 'null'] });
}
