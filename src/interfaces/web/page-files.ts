import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { errnoOf, HostError } from '../../core/errors.ts';
import { safeHeaders } from './reply.ts';

const types = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8'
} as const;

type Name = keyof typeof types;

/** Addresses of screens; the page itself shows the one that is named. */
const screens =
  /^\/(?:|agents\/[0-9a-f]{8}|squads|council|workers|audit|spend)$/;

/** The files of the page; they hold nothing of the workspace. */
export class PageFiles {
  readonly #files: Record<Name, Buffer>;

  /**
   * @param directory `dist/web`
   * @throws HostError `config_invalid` if the page was not built
   */
  constructor(directory: string) {
    this.#files = {
      'index.html': read(directory, 'index.html'),
      'app.js': read(directory, 'app.js'),
      'app.css': read(directory, 'app.css')
    };
  }

  /** @returns false for the name of a file that is not there */
  serve(
    { method }: IncomingMessage,
    path: string,
    response: ServerResponse
  ): boolean {
    const known = nameOf(path);
    // A mistyped address gets the page, which says so; a file does not.
    if (known === undefined && path.includes('.')) return false;
    const name = known ?? 'index.html';
    const body = this.#files[name];
    response.writeHead(known === undefined ? 404 : 200, {
      ...safeHeaders,
      'Content-Type': types[name],
      'Content-Length': body.length,
      'Cache-Control': 'no-cache'
    });
    if (method === 'HEAD') response.end();
    else response.end(body);
    return true;
  }
}

function nameOf(path: string): Name | undefined {
  if (screens.test(path)) return 'index.html';
  if (path === '/app.js') return 'app.js';
  return path === '/app.css' ? 'app.css' : undefined;
}

function read(directory: string, name: Name): Buffer {
  const path = join(directory, name);
  try {
    return readFileSync(path);
  } catch (error) {
    throw new HostError(
      'config_invalid',
      `The page cannot be read: ${path} (${errnoOf(error)}).`,
      'Build it in the clone of troupe: npm run build.'
    );
  }
}
