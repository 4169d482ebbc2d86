import { z } from 'zod';

type Schema = z.core.JSONSchema.BaseSchema;
type Shape = z.core.$ZodType;

const cache = new WeakMap<z.ZodType, Schema>();

/**
 * The JSON Schema of a tool's input for clients. Each word of a schema takes up
 * context of every client, so it contains only what a model needs for a call:
 * names, types, choices and defaults. Length limits and patterns are left out:
 * the error of a call that violates one names it. Tools that share a shape
 * share its schema.
 */
export function inputSchemaOf(shape: z.ZodObject): Schema {
  const cached = cache.get(shape);
  if (cached) return cached;
  const schema = shapeSchema(shape) ?? publishedSchema(shape);
  cache.set(shape, schema);
  return schema;
}

/** Converts any shape with zod, which is slow. */
export function publishedSchema(shape: z.ZodObject): Schema {
  const { $schema, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    override: ({ jsonSchema }) => withoutNoise(jsonSchema)
  });
  return schema;
}

function withoutNoise(schema: Schema): void {
  for (const limit of unpublished) delete schema[limit];
  shortNull(schema);
  // Limits of seconds only exclude nonsense; limits of a count matter.
  if ([schema.type].flat().includes('number')) withoutRange(schema);
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  const { additionalProperties } = schema;
  // Without the keyword any value is allowed, as with `{}`.
  if (
    typeof additionalProperties === 'object' &&
    Object.keys(additionalProperties).length === 0
  )
    delete schema.additionalProperties;
}

const unpublished = [
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

/** Replaces `anyOf` with null by a list of types if both are equivalent. */
function shortNull(schema: Schema): void {
  const { anyOf } = schema;
  if (!anyOf?.some(({ type }) => type === 'null')) return;
  const [only, ...more] = anyOf.filter(({ type }) => type !== 'null');
  // An enum would also need null among its choices.
  if (only?.type === undefined || only.enum || more.length > 0) return;
  delete schema.anyOf;
  Object.assign(schema, only, { type: [only.type, 'null'] });
}

/**
 * Converts the kinds of shapes that built-in tools use, with the same result as
 * zod; undefined for other shapes. Saves 1 MB and several milliseconds at each
 * start.
 */
export function shapeSchema(shape: Shape): Schema | undefined {
  const { description, ...more } = z.globalRegistry.get(shape) ?? {};
  const schema = Object.keys(more).length === 0 ? kindOf(shape) : undefined;
  if (schema && description !== undefined) schema.description = description;
  return schema;
}

function kindOf(shape: Shape): Schema | undefined {
  if (shape instanceof z.ZodObject) return ofObject(shape);
  if (shape instanceof z.ZodOptional) return shapeSchema(shape.def.innerType);
  if (shape instanceof z.ZodDefault) return ofDefault(shape);
  if (shape instanceof z.ZodString) return ofString(shape);
  if (shape instanceof z.ZodNumber) return ofNumber(shape);
  if (shape instanceof z.ZodBoolean) return { type: 'boolean' };
  if (shape instanceof z.ZodEnum) return ofEnum(shape);
  if (shape instanceof z.ZodArray) return ofArray(shape);
  if (shape instanceof z.ZodRecord) return ofRecord(shape);
  if (shape instanceof z.ZodNullable) return ofNullable(shape);
  if (shape instanceof z.ZodUnknown) return {};
  return undefined;
}

function ofObject({ shape, def }: z.ZodObject): Schema | undefined {
  const isStrict = def.catchall instanceof z.ZodNever;
  const isLoose = def.catchall instanceof z.ZodUnknown;
  if (def.catchall && !isStrict && !isLoose) return undefined;
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(shape)) {
    const schema = shapeSchema(field);
    if (!schema) return undefined;
    properties[name] = schema;
    if (field._zod.optin === undefined) required.push(name);
  }
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(isStrict ? { additionalProperties: false } : {})
  };
}

function ofDefault({ def }: z.ZodDefault): Schema | undefined {
  const schema = shapeSchema(def.innerType);
  if (schema) schema.default = JSON.parse(JSON.stringify(def.defaultValue));
  return schema;
}

/** Strings with a format are left to the general conversion. */
function ofString({ format }: z.ZodString): Schema | undefined {
  return format === null || format === 'regex' ? { type: 'string' } : undefined;
}

/** Exclusive limits that are published are left to the general conversion. */
function ofNumber(shape: z.ZodNumber): Schema | undefined {
  const { isInt, minValue: minimum, maxValue: maximum } = shape;
  const isKnown = (shape.def.checks ?? []).every(
    (check) =>
      check instanceof z.core.$ZodCheckNumberFormat ||
      (check instanceof z.core.$ZodCheckGreaterThan &&
        (check._zod.def.inclusive || !isInt)) ||
      (check instanceof z.core.$ZodCheckLessThan && check._zod.def.inclusive)
  );
  if (!isKnown) return undefined;
  if (!isInt) return { type: 'number' };
  if (minimum === null || maximum === null) return undefined;
  return {
    type: 'integer',
    minimum,
    ...(maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum })
  };
}

function ofEnum({ options }: z.ZodEnum): Schema | undefined {
  return options.every((option) => typeof option === 'string')
    ? { type: 'string', enum: [...options] }
    : undefined;
}

function ofArray({ def }: z.ZodArray): Schema | undefined {
  const items = shapeSchema(def.element);
  return items && { type: 'array', items };
}

function ofRecord({ def, description }: z.ZodRecord): Schema | undefined {
  const { keyType, valueType } = def;
  const isAny = valueType instanceof z.ZodUnknown;
  // zod omits parts of records with a description or with nested values.
  if (!isAny && (!isSimple(valueType) || description !== undefined))
    return undefined;
  const values = shapeSchema(valueType);
  if (!values || !(keyType instanceof z.ZodString)) return undefined;
  return {
    type: 'object',
    ...(Object.keys(values).length > 0 ? { additionalProperties: values } : {})
  };
}

/** Lists the type first, then null. */
function ofNullable({ def }: z.ZodNullable): Schema | undefined {
  const { innerType } = def;
  const inner = isSimple(innerType) ? shapeSchema(innerType) : undefined;
  if (inner?.type === undefined || inner.enum) return undefined;
  if (inner.description !== undefined) return undefined;
  return Object.assign(inner, { type: [inner.type, 'null'] });
}

function isSimple(shape: Shape): boolean {
  const kinds = [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodEnum];
  return kinds.some((kind) => shape instanceof kind);
}
