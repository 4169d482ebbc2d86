import { z } from 'zod';

type Schema = z.core.JSONSchema.BaseSchema;
type Shape = z.core.$ZodType;

/**
 * What a client is told of a shape, as `publishedSchema` says it, for the few
 * kinds of shapes that tools are made of. The other one can do everything, and
 * took 2 ms and 1 MB of each start.
 * @returns undefined for a shape with something else in it
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

/** Of a format a client is told. */
function ofString({ format }: z.ZodString): Schema | undefined {
  return format === null || format === 'regex' ? { type: 'string' } : undefined;
}

/** A fraction's limits are not told, but for one that it must stay below. */
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
  // Of others, described ones above all, the general way forgets a part.
  if (!isAny && (!isSimple(valueType) || description !== undefined))
    return undefined;
  const values = shapeSchema(valueType);
  if (!values || !(keyType instanceof z.ZodString)) return undefined;
  return {
    type: 'object',
    ...(Object.keys(values).length > 0 ? { additionalProperties: values } : {})
  };
}

/** What else it may be comes first. */
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
