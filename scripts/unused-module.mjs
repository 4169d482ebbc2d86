// Stands in for modules that the bundled server constructs but never calls.
function unused() {}
export const Ajv = unused;
export const ZodFirstPartyTypeKind = {};
export const zodToJsonSchema = unused;
export const object = unused;
export default Object.assign(unused, { default: unused });
