import { z } from 'zod';

export const agentId = z.string().min(1).max(64).describe('Id from a spawn');

/** Annotations of a tool that changes nothing. */
export const looking = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false
};
