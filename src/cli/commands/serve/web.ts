import { z } from 'zod';
import type { Config } from '../../../config/config.ts';
import { listOf } from '../../../config/overrides.ts';
import { HostError, messageOf } from '../../../core/errors.ts';
import { prepareRecord } from '../../../core/paths/records.ts';
import { ConfigSource } from '../../../host/config-source.ts';
import {
  createHost,
  type Host,
  retainAutomatically
} from '../../../host/host.ts';
import { log, logProblem } from '../../../host/log.ts';
import { liveUntilSignal } from '../../../interfaces/mcp/server/lifecycle.ts';
import { readDoorFile } from '../../../interfaces/web/door-file.ts';
import { codeSeconds, type Scope } from '../../../interfaces/web/logins.ts';
import {
  isWildcard,
  linkTo,
  serveWeb,
  type WebServer
} from '../../../interfaces/web/serve-web.ts';
import { print } from '../../output/output.ts';
import { openBrowser } from '../../process/open-browser.ts';
import { logUncaughtErrors } from '../../process/process-setup.ts';
import { readFlags } from './served-flags.ts';

/** server-commands.ts describes them for help. */
const webFlags = {
  port: { type: 'string' },
  host: { type: 'string' },
  'allow-host': { type: 'string' },
  'no-open': { type: 'boolean' },
  link: { type: 'string' },
  workspace: { type: 'string' },
  config: { type: 'string' },
  engines: { type: 'string' },
  'max-access': { type: 'string' },
  trust: { type: 'boolean' }
} as const;

type Values = ReturnType<typeof valuesOf>;

/** Serves the page until a signal ends it, or prints a link to it. */
export async function runWeb(args: string[]): Promise<void> {
  try {
    await start(args);
  } catch (error) {
    const text = messageOf(error);
    log(error instanceof HostError ? `${text} ${error.hint}` : text);
    process.exit(1);
  }
}

async function start(args: string[]): Promise<void> {
  logUncaughtErrors(logProblem);
  const values = valuesOf(args);
  const source = new ConfigSource(flagsOf(values), (config) => config);
  const config = await source.load();
  const host = await createHost(config, source);
  host.safety.check();
  prepareRecord(host.paths);
  const running = await runningLink(host, scopeIn(values));
  if (running !== undefined) return announceRunning(host, running, values);
  if (values.link !== undefined) throw noneRuns(config);
  let server: WebServer | undefined;
  const life = liveUntilSignal(async () => {
    await Promise.all([server?.close(), host.close()]);
  });
  server = await serveWeb({
    host,
    address: addressIn(values),
    allowedHosts: listOf(values['allow-host']) ?? [],
    ending: life.ending
  });
  retainAutomatically(host);
  const link = server.link('act');
  await print(`${link}\n`);
  log(`the page of ${config.workspace}; ${linkHint} Ctrl-C ends it.`);
  if (!values['no-open']) openBrowser(link, host.paths.webDoor);
}

const linkHint = `the link works once, within ${codeSeconds} s; another one: troupe web --link look|act.`;

function valuesOf(args: string[]) {
  return readFlags(args, webFlags, 'troupe web');
}

function flagsOf(values: Values) {
  const { workspace, config, engines, trust } = values;
  return {
    ...{ workspace, config, engines, trust },
    maxAccess: values['max-access']
  };
}

/** @throws HostError `config_invalid` */
function scopeIn({ link = 'act' }: Values): Scope {
  if (link === 'look' || link === 'act') return link;
  throw new HostError(
    'config_invalid',
    `--link is ${JSON.stringify(link)}.`,
    'Give look, or act for a link that may act.'
  );
}

/** @throws HostError `config_invalid` */
function addressIn(values: Values) {
  const { host = '127.0.0.1', port } = values;
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
  if (!isLoopback && values['allow-host'] === undefined)
    throw new HostError(
      'config_invalid',
      `Others could reach ${host}, but no Host name of theirs is allowed.`,
      'Name it with --allow-host, or leave --host out. Their browsers send everything unencrypted.'
    );
  if (port === undefined) return { host, port: undefined };
  if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535)
    return { host, port: Number(port) };
  throw new HostError(
    'config_invalid',
    `--port is ${JSON.stringify(port)}.`,
    'Give a number up to 65535, or leave it out for any free port.'
  );
}

/** A running page may take so long to answer. */
const linkMs = 3000;

/**
 * A new link to the page that another process serves for this workspace.
 * Undefined if none does.
 * @throws HostError `not_yours` for an agent, whose answers must not count as
 *   those of a person
 */
async function runningLink(
  { paths, origin }: Host,
  scope: Scope
): Promise<string | undefined> {
  const door = readDoorFile(paths.webDoor);
  if (!door) return undefined;
  if (scope === 'act' && (origin.parent !== null || origin.depth > 0))
    throw new HostError(
      'not_yours',
      'An agent gets no link that may act as a person.',
      'Use --link look.'
    );
  const { host, port, secret } = door;
  const reached = isWildcard(host) ? '127.0.0.1' : host;
  try {
    const answer = await fetch(
      new URL('/web/link', linkTo({ host: reached, port }, '')),
      {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${secret}`,
          'Content-Type': 'application/json'
        },
        body: JSON.stringify({ scope }),
        signal: AbortSignal.timeout(linkMs)
      }
    );
    const { data } = z
      .object({ code: z.string().regex(/^[\w-]{24}$/) })
      .safeParse(await answer.json());
    return data && linkTo({ host: reached, port }, data.code);
  } catch {
    return undefined;
  }
}

async function announceRunning(
  host: Host,
  link: string,
  values: Values
): Promise<void> {
  await print(`${link}\n`);
  if (values.link === undefined) {
    log(`troupe web serves this workspace already; ${linkHint}`);
    if (!values['no-open']) openBrowser(link, host.paths.webDoor);
  }
  await host.close();
}

function noneRuns({ workspace }: Config): HostError {
  return new HostError(
    'config_invalid',
    `No page of ${workspace} is being served.`,
    'Start it: troupe web'
  );
}
