import { config } from 'zod';

/**
 * Schemas as they are written, not compiled at their first use: most are used
 * once, and compiling them takes a millisecond of every start. To be imported
 * before whatever makes schemas.
 */
config({ jitless: true });
