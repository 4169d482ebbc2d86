import { z } from 'zod';
import { pluginFault } from './agent-document.ts';

const enforcement = z.enum(['enforced', 'asked']);

const engine = {
  name: z.string(),
  kind: z.enum(['cli', 'api']),
  tool: z.string(),
  description: z.string(),
  available: z.boolean(),
  command: z.string().nullable(),
  path: z.string().nullable(),
  access: z
    .strictObject({ read: enforcement, write: enforcement, full: enforcement })
    .nullable(),
  models: z.strictObject({
    default: z.string().nullable(),
    aliases: z.record(z.string(), z.string())
  }),
  keys: z.array(z.strictObject({ name: z.string(), from: z.string() })),
  pass_env: z.array(z.strictObject({ name: z.string(), is_set: z.boolean() }))
};

/** `engines`. */
export const enginesDocument = z.strictObject({
  engines: z.array(z.strictObject(engine)),
  faults: z.array(pluginFault)
});
export type EnginesDocument = z.output<typeof enginesDocument>;

const role = {
  id: z.string(),
  name: z.string(),
  description: z.string(),
  from: z.enum(['built-in', 'workspace']),
  replaces_builtin: z.boolean(),
  access: z.enum(['read', 'write', 'full']).nullable(),
  engine: z.string().nullable(),
  model: z.string().nullable(),
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
  roleFault.extend({ path: z.string().nullable() })
]);

const check = z.strictObject({
  ...engine,
  version: z.string().nullable(),
  tested: z
    .strictObject({
      says: z.string(),
      verified: z
        .strictObject({ oldest: z.string(), newest: z.string() })
        .nullable(),
      gone: z.array(z.string()).nullable()
    })
    .nullable(),
  login: z.enum(['logged in', 'not logged in', 'unknown']).nullable(),
  ready: z.boolean(),
  next: z.string().nullable()
});

/** `doctor`. */
export const doctorDocument = z.strictObject({
  ok: z.boolean(),
  version: z.string(),
  workspace: z.string(),
  config: z.strictObject({
    file: z.string().nullable(),
    problem: z.string().nullable()
  }),
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
  unsafe: z.string().nullable(),
  orphans: z.array(z.string()),
  tmux: z
    .strictObject({ path: z.string(), version: z.string().nullable() })
    .nullable(),
  engines: z.array(check),
  faults: z.array(pluginFault),
  left_out: z.array(
    z.strictObject({
      setting: z.string(),
      allows: z.string(),
      changed: z.boolean()
    })
  ),
  squads: z.array(z.string()),
  next: z.array(z.string())
});
export type DoctorDocument = z.output<typeof doctorDocument>;

/** `config`. */
export const configDocument = z.strictObject({
  workspace: z.string(),
  file: z.string().nullable(),
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
