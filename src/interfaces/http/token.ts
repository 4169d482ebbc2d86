import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync
} from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, HostError, storageError } from '../../core/errors.ts';
import { createOnce } from '../../core/state/atomic-file.ts';
import { ensureDirectory } from '../../core/state/directories.ts';
import { tokenVariable } from '../../http-config.ts';

export interface Token {
  value: string;
  /** The file that keeps it; undefined when it was given. */
  file: string | undefined;
}

/** Fit for an Authorization header, and not to be guessed. */
const fit = /^[\w.~+/=-]{16,512}$/;

/**
 * The bearer token: the given one, else the one in the file, which is made at
 * its first use.
 * @param file in the record, where a clone cannot have put one
 * @throws HostError `config_invalid` when it is no token, or others may know
 *   it; `storage_full`, `storage_unwritable`
 */
export function tokenFor(file: string, given: string | undefined): Token {
  if (given) {
    if (fit.test(given)) return { value: given, file: undefined };
    throw new HostError(
      'config_invalid',
      `${tokenVariable} is no token: it needs 16 characters or more of A-Z a-z 0-9 - . _ ~ + / =.`,
      'Give another one, or none: then one is made.'
    );
  }
  try {
    ensureDirectory(dirname(file));
    const made = randomBytes(32).toString('base64url');
    if (createOnce(file, `${made}\n`)) return { value: made, file };
  } catch (error) {
    throw storageError(error, file);
  }
  return { value: kept(file), file };
}

/** True when a request carries the token. Takes as long for any other. */
export function tokenCheck({ value }: Token): (header?: string) => boolean {
  const right = digest(value);
  return (header = '') => {
    const [, sent = ''] = /^Bearer +(\S+)$/i.exec(header) ?? [];
    return timingSafeEqual(digest(sent), right);
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** @throws HostError `config_invalid` */
function kept(file: string): string {
  const wrong = (fault: string) =>
    new HostError(
      'config_invalid',
      `${file} ${fault}.`,
      `Remove it: a new token is made at the next start. Or set ${tokenVariable}.`
    );
  const descriptor = openOwn(file, wrong);
  try {
    const { mode, uid } = fstatSync(descriptor);
    if (process.platform !== 'win32') {
      if ((mode & constants.S_IFMT) !== constants.S_IFREG)
        throw wrong('is no file');
      if (uid !== process.getuid?.()) throw wrong('belongs to somebody else');
      if ((mode & 0o077) !== 0)
        throw wrong(
          `can be read by others (mode ${(mode & 0o777).toString(8)}), so its token may be known`
        );
    }
    const token = readFileSync(descriptor, 'utf8').trim();
    if (!fit.test(token)) throw wrong('holds no token');
    return token;
  } finally {
    closeSync(descriptor);
  }
}

/** Never through a link, and never waiting for a pipe's other end. */
function openOwn(file: string, wrong: (fault: string) => HostError): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  try {
    return openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === 'ELOOP') throw wrong('is a symbolic link');
    throw wrong(`cannot be read (${errnoOf(error)})`);
  }
}
