import { z } from 'zod';
import { pluginFault } from './agent-documents.ts';

const textOrNull = z.string().nullable();
const access = z.enum(['read', 'write', 'full']);
const enforcement = z.enum(['enforced', 'asked']);

const engine = {
  name: z.string(),
  kind: z.enum(['cli', 'api']),
  tool: z.string(),
  description: z.string(),
  replaced_by: z
    .string()
    .optional()
    .describe('the plugin that replaces a built-in engine'),
  /** Whether the program is installed, or the key of the API is set. */
  available: z.boolean(),
  /** The name of the program; null for an API. */
  command: textOrNull,
  path: textOrNull,
  access: z
    .strictObject({ read: enforcement, write: enforcement, full: enforcement })
    .nullable(),
  models: z.strictObject({
    default: textOrNull,
    aliases: z.record(z.string(), z.string())
  }),
  /** Keys from the environment or a key file, without their values. */
  keys: z.array(z.strictObject({ name: z.string(), from: z.string() })),
  pass_env: z.array(z.strictObject({ name: z.string(), is_set: z.boolean() }))
};

const role = {
  id: z.string(),
  name: z.string(),
  description: z.string(),
  from: z.enum(['built-in', 'workspace']),
  replaces_builtin: z.boolean(),
  access: access.nullable(),
  engine: textOrNull,
  model: textOrNull,
  path: z.string()
};

const roleFault = z.strictObject({
  id: z.string(),
  path: z.string(),
  problem: z.string()
});

/** `roles`. */
export const rolesDocument = z.strictObject({
  roles: z.array(z.strictObject(role)),
  faults: z.array(roleFault)
});

/** `roles ID`. */
export const roleDocument = z.union([
  z.strictObject({ ...role, body: z.string() }),
  roleFault.extend({ path: textOrNull })
]);

const release = z.strictObject({ oldest: z.string(), newest: z.string() });

const engineCheck = z.strictObject({
  ...engine,
  version: textOrNull,
  tested: z
    .strictObject({
      says: z.string(),
      verified: release.nullable(),
      gone: z.array(z.string()).nullable()
    })
    .nullable(),
  /** Null for an API, which has a key instead. */
  login: z.enum(['logged in', 'not logged in', 'unknown']).nullable(),
  /** Whether no known problem keeps the engine from working. */
  ready: z.boolean(),
  /** The next step for the user. */
  next: textOrNull
});

export type EngineCheck = z.output<typeof engineCheck>;
export type EngineFacts = Omit<
  EngineCheck,
  'version' | 'tested' | 'login' | 'ready' | 'next'
>;

/** `engines`. */
export const enginesDocument = z.strictObject({
  engines: z.array(engineCheck),
  faults: z.array(pluginFault)
});
export type EnginesDocument = z.output<typeof enginesDocument>;

/** `doctor`. */
export const doctorDocument = z.strictObject({
  ok: z.boolean(),
  version: z.string(),
  workspace: z.string(),
  config: z.strictObject({ file: textOrNull, problem: textOrNull }),
  node: z.strictObject({
    version: z.string(),
    required: z.string(),
    ok: z.boolean()
  }),
  directories: z.array(
    z.strictObject({
      path: z.string(),
      state: z.enum(['writable', 'created when needed', 'not writable'])
    })
  ),
  /** The reason why troupe must not use its files in the workspace. */
  unsafe: textOrNull,
  /** Removed workspaces that still have a record. */
  orphans: z.array(z.string()),
  /** Null if tmux is not installed. */
  tmux: z.strictObject({ path: z.string(), version: textOrNull }).nullable(),
  engines: z.array(engineCheck),
  faults: z.array(pluginFault),
  /** Settings of the workspace that are ignored until it is trusted. */
  left_out: z.array(
    z.strictObject({
      setting: z.string(),
      allows: z.string(),
      changed: z.boolean()
    })
  ),
  /** Faults in the settings, templates and roles of squads. */
  squads: z.array(z.string()),
  /** Next steps for the user, most urgent first. */
  next: z.array(z.string())
});
export type DoctorDocument = z.output<typeof doctorDocument>;

/** `config`. */
export const configDocument = z.strictObject({
  workspace: z.string(),
  file: textOrNull,
  only_engines: z.array(z.string()).nullable(),
  left_out: z.array(z.string()),
  settings: z.array(
    z.strictObject({
      path: z.array(z.string()),
      value: z.unknown(),
      from: z.string()
    })
  )
});

const asked = z.strictObject({
  setting: z.string(),
  allows: z.string(),
  trusted: z.boolean()
});

/** `trust`, also with `--yes`. */
export const trustDocument = z.strictObject({
  workspace: z.string(),
  /** Whether every setting in `asked` is trusted. */
  trusted: z.boolean(),
  /** Whether the workspace was trusted before, with other content. */
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

const file = {
  file: z.string(),
  state: z.enum(['ours', 'foreign', 'absent']).nullable(),
  change: z.enum(['add', 'update', 'remove']).nullable(),
  problem: textOrNull,
  written: z.boolean()
};

/** `init`. */
export const initDocument = z.strictObject({
  workspace: z.string(),
  clients: z.array(
    z.strictObject({
      name: z.string(),
      label: z.string(),
      found: textOrNull,
      ...file,
      check: z
        .strictObject({
          ok: z.boolean(),
          milliseconds: z.number().nullable(),
          tools: z.array(z.string()),
          problem: textOrNull,
          next: textOrNull
        })
        .nullable()
    })
  ),
  access: z.strictObject(file).nullable(),
  claude_settings: z.strictObject(file).nullable(),
  first_task: z
    .strictObject({
      engine: z.string(),
      agent_id: textOrNull,
      status: textOrNull,
      problem: textOrNull,
      entry: textOrNull
    })
    .nullable()
});
export type InitDocument = z.output<typeof initDocument>;
export type FirstTask = NonNullable<InitDocument['first_task']>;
