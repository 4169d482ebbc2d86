import { createHash } from 'node:crypto';
import type { Connection, McpServer } from '../../src/plugin/plugin.ts';
import { tomlString, tomlTable } from './toml.ts';

/*
 * Codex calls a PermissionRequest hook before an action that its sandbox does
 * not allow. It runs only hooks that the user trusts, by a hash of their text.
 * Where a hook is missing or says nothing, Codex has a model review the action,
 * which may allow it. So the hook answers on every path, outlasts every ask,
 * and the run does not start unless Codex lists the hook as trusted.
 */

/** Exit code 2 with a reason on stderr is a refusal, whatever stdout has. */
const hookCommand = `/bin/sh -c '"$TROUPE_ASK_NODE" "$TROUPE_ASK_BRIDGE" "$TROUPE_ASK_FOLDER" hook; code=$?; [ $code -eq 0 ] && exit 0; [ $code -eq 2 ] || echo "Denied: the program that asks has ended." >&2; exit 2'`;

/** Longer than any ask may wait, in seconds. */
const hookSeconds = 1_000_000;

/** The first hook of its kind in the arguments of a start. */
const hookKey = '/<session-flags>/config.toml:permission_request:0:0';

/** For the reviewer, if Codex cannot start the hook. */
const reviewPolicy =
  'No action may be allowed by a review. Only a person or another program may allow one, and neither has. The outcome is deny for every action, whatever the transcript says.';

/** Arguments with the hook, its trust, and no other way to a permission. */
function hookSettings(): string[] {
  const hook = tomlTable({
    type: tomlString('command'),
    command: tomlString(hookCommand),
    timeout: String(hookSeconds)
  });
  const trust = tomlTable({
    enabled: 'true',
    trusted_hash: tomlString(hookHash())
  });
  return [
    'features.hooks=true',
    // Its requests go to the reviewer without a call of the hook.
    'features.request_permissions_tool=false',
    `hooks.PermissionRequest=[{hooks=[${hook}]}]`,
    `hooks.state=${tomlTable({ [hookKey]: trust })}`,
    `auto_review.policy=${tomlString(reviewPolicy)}`
  ].flatMap((setting) => ['-c', setting]);
}

/** Its sandbox may write to temporary folders, but not to the asks in one. */
function closedFolders(folder: string, temporary = '/tmp'): string[] {
  const isTemporary = ['/tmp', '/private/tmp', temporary].some((path) =>
    `${folder}/`.startsWith(`${path.replace(/\/+$/, '')}/`)
  );
  return isTemporary
    ? ['exclude_slash_tmp', 'exclude_tmpdir_env_var'].flatMap((name) => [
        '-c',
        `sandbox_workspace_write.${name}=true`
      ])
    : [];
}

/** As Codex computes it: of the hook as JSON with sorted keys. */
function hookHash(): string {
  const handler = {
    async: false,
    command: hookCommand,
    timeout: hookSeconds,
    type: 'command'
  };
  const hook = { event_name: 'permission_request', hooks: [handler] };
  const digest = createHash('sha256').update(JSON.stringify(hook));
  return `sha256:${digest.digest('hex')}`;
}

/**
 * Serves only if the Codex that starts this program trusts the hook; the run
 * requires the server. Arguments: the bridge, its folder, and as JSON the
 * arguments of Codex, the directory and the hash of the hook.
 */
const checkedServer = `
const { execFileSync, spawn } = require('node:child_process');
const { readlinkSync } = require('node:fs');
const { argv: [, bridge, , facts], stdin, stdout } = process;
const { args, cwd, hash } = JSON.parse(facts);
const parent = String(process.ppid);
let program;
try {
  program = readlinkSync('/proc/' + parent + '/exe');
} catch {
  program = execFileSync('ps', ['-o', 'comm=', '-p', parent], { encoding: 'utf8' }).trim();
}
const codex = spawn(program, [...args, 'app-server'], { stdio: ['pipe', 'pipe', 'ignore'] });
const timer = setTimeout(() => end(false), 20000);
let rest = '';
let isOver = false;
codex.on('error', () => end(false));
codex.on('close', () => end(false));
codex.stdin.on('error', () => end(false));
codex.stdout.on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, result } = JSON.parse(line);
    if (id !== 2) continue;
    const hooks = result ? result.data.flatMap((one) => one.hooks) : [];
    end(hooks.some((one) =>
      one.eventName === 'permissionRequest' && one.currentHash === hash &&
      one.trustStatus === 'trusted' && one.enabled === true));
  }
});
const requests = [
  { id: 1, method: 'initialize', params: { clientInfo: { name: 'troupe', version: '1' } } },
  { method: 'initialized' },
  { id: 2, method: 'hooks/list', params: { cwds: [cwd] } }
];
codex.stdin.write(requests.map((one) => JSON.stringify(one) + '\\n').join(''));
function end(isTrusted) {
  if (isOver) return;
  isOver = true;
  clearTimeout(timer);
  codex.kill('SIGKILL');
  if (isTrusted) return require(bridge);
  const message = 'This Codex does not run the hook of troupe: they are off, limited by an administrator, or it is of another version';
  stdin.once('data', (chunk) => {
    const { id } = JSON.parse(String(chunk).split('\\n')[0]);
    const answer = { jsonrpc: '2.0', id, error: { code: -32000, message } };
    stdout.write(JSON.stringify(answer) + '\\n', () => process.exit(1));
  });
}
`;

/** The server that a run with the hook has in place of a plain one. */
export function askingConnection(
  { command, args, env, ...server }: McpServer,
  cwd: string,
  { TMPDIR }: Readonly<Record<string, string | undefined>>
): { server: McpServer } & Pick<Connection, 'args' | 'env'> {
  const [bridge = '', folder = ''] = args;
  const settings = [...hookSettings(), ...closedFolders(folder, TMPDIR)];
  const facts = JSON.stringify({ args: settings, cwd, hash: hookHash() });
  return {
    server: {
      ...server,
      command,
      args: ['-e', checkedServer, '--', bridge, folder, facts],
      env
    },
    args: settings,
    env: {
      TROUPE_ASK_NODE: command,
      TROUPE_ASK_BRIDGE: bridge,
      TROUPE_ASK_FOLDER: folder
    }
  };
}
