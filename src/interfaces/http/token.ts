import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync
} from 'node:fs';
import { dirname } from 'node:path';
import { tokenVariable } from '../../config/http.ts';
import { errnoOf, HostError, storageError } from '../../core/errors.ts';
import { createOnce } from '../../core/state/files/atomic-file.ts';
import { ensureDirectory } from '../../core/state/files/directories.ts';

export interface Token {
  value: string;
  /** The file with the token; undefined if the caller passed the token. */
  file: string | undefined;
}

/** Valid in an Authorization header, and too long to be guessed. */
const tokenPattern = /^[\w.~+/=-]{16,512}$/;

/**
 * Returns the custom token, if there is one, else the token in the file. The
 * first call creates the file.
 * @param file in the record, where a cloned project cannot place a file
 * @throws HostError `config_invalid` if the token is invalid or may be
 *   known to other users; `storage_full`, `storage_unwritable`
 */
export function tokenFor(file: string, custom: string | undefined): Token {
  if (custom) {
    if (tokenPattern.test(custom)) return { value: custom, file: undefined };
    throw new HostError(
      'config_invalid',
      `${tokenVariable} is not a token: it needs 16 characters or more of A-Z a-z 0-9 - . _ ~ + / =.`,
      'Give another one, or none: one is then made.'
    );
  }
  try {
    ensureDirectory(dirname(file));
    const created = randomBytes(32).toString('base64url');
    if (createOnce(file, `${created}\n`)) return { value: created, file };
  } catch (error) {
    throw storageError(error, file);
  }
  return { value: readToken(file), file };
}

/** Returns a check of an Authorization header that takes constant time. */
export function tokenCheck({ value }: Token): (header?: string) => boolean {
  const right = digest(value);
  return (header) => timingSafeEqual(digest(bearerOf(header)), right);
}

/** The token of an Authorization header; empty without one. */
export function bearerOf(header = ''): string {
  return /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** @throws HostError `config_invalid` */
function readToken(file: string): string {
  const invalid = (fault: string) =>
    new HostError(
      'config_invalid',
      `${file} ${fault}.`,
      `Remove it: a new token is made at the next start. Or set ${tokenVariable}.`
    );
  const descriptor = openOwn(file, invalid);
  try {
    const { mode, uid } = fstatSync(descriptor);
    if (process.platform !== 'win32') {
      if ((mode & constants.S_IFMT) !== constants.S_IFREG)
        throw invalid('is not a file');
      if (uid !== process.getuid?.()) throw invalid('belongs to another user');
      if ((mode & 0o077) !== 0)
        throw invalid(
          `can be read by others (mode ${(mode & 0o777).toString(8)}), so its token may be known`
        );
    }
    const token = readFileSync(descriptor, 'utf8').trim();
    if (!tokenPattern.test(token)) throw invalid('holds no token');
    return token;
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a file without following a link or waiting for a pipe's writer. */
function openOwn(file: string, invalid: (fault: string) => HostError): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  try {
    return openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === 'ELOOP') throw invalid('is a symbolic link');
    throw invalid(`cannot be read (${errnoOf(error)})`);
  }
}
