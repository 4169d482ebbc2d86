import { config } from 'zod';

/**
 * Makes zod interpret schemas instead of compiling them: most are used once,
 * and compiling adds a millisecond to every start. This module must be
 * imported before the modules that create schemas.
 */
config({ jitless: true });
