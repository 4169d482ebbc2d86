import { z } from 'zod';

export const agentId = z.string().min(1).max(64);

/** Annotations of a tool that changes nothing. */
export const looking = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false
};

/** The same where an answer carries agents' words. */
export const reading = { ...looking, openWorldHint: true };
