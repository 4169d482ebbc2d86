import { z } from 'zod';

const asked = z.strictObject({
  setting: z.string(),
  allows: z.string(),
  trusted: z.boolean()
});

/** `trust`, also with `--yes`. */
export const trustDocument = z.strictObject({
  workspace: z.string(),
  /** Everything that it asks for counts. */
  trusted: z.boolean(),
  /** It was trusted before, with other content. */
  changed: z.boolean(),
  asked: z.array(asked)
});
export type TrustDocument = z.output<typeof trustDocument>;

/** `trust --revoke`. */
export const trustRevokeDocument = z.strictObject({
  workspace: z.string(),
  revoked: z.boolean()
});
export type TrustRevokeDocument = z.output<typeof trustRevokeDocument>;

/** `trust --list`. */
export const trustListDocument = z.strictObject({
  workspaces: z.array(
    z.strictObject({ workspace: z.string(), granted_at: z.string() })
  )
});
export type TrustListDocument = z.output<typeof trustListDocument>;
