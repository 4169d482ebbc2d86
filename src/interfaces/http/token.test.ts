import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { tokenCheck, tokenFor } from './token.ts';

const value = '0123456789abcdef';

let workspace: TempWorkspace;
let file: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  file = workspace.paths.token;
});

afterEach(() => workspace.remove());

/** Writes a token file that is valid but for its mode. */
function place(text: string, mode = '600'): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, Number.parseInt(mode, 8));
}

const refused = (message: RegExp) =>
  expect.objectContaining({
    code: 'config_invalid',
    message: expect.stringMatching(message)
  });

describe('a custom token', () => {
  test.each([
    [value],
    ['a'.repeat(512)],
    ['AZaz09-._~+/=AZaz'],
    ['----------------']
  ])('%s is used, and no file is written', (custom) => {
    expect(tokenFor(file, custom)).toEqual({ value: custom, file: undefined });
    expect(() => statSync(dirname(file))).toThrow('ENOENT');
  });

  test.each([
    ['too short', value.slice(1)],
    ['too long', 'a'.repeat(513)],
    ['with a space', `${value} x`],
    ['with a line end', `${value}\n`],
    ['with another letter', `${value}é`]
  ])('that is %s is refused, and not shown', (_, custom) => {
    expect(() => tokenFor(file, custom)).toThrow(refused(/^TROUPE_HTTP_TOKEN/));
    expect(() => tokenFor(file, custom)).not.toThrow(custom);
  });

  test('that is empty counts as none', () => {
    expect(tokenFor(file, '').file).toBe(file);
  });
});

describe('the token file', () => {
  test('is made once, for the user alone, with 32 random bytes', () => {
    const first = tokenFor(file, undefined);
    expect(first.file).toBe(file);
    expect(Buffer.from(first.value, 'base64url')).toHaveLength(32);
    expect(readFileSync(file, 'utf8')).toBe(`${first.value}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(tokenFor(file, undefined)).toEqual(first);
    const other = tokenFor(`${file}-2`, undefined);
    expect(other.value).not.toBe(first.value);
  });

  test.each(['600', '400'])('of mode %s is read', (mode) => {
    place(` ${value}\n`, mode);
    expect(tokenFor(file, undefined)).toEqual({ value, file });
  });

  test.each(['640', '620', '610', '604', '602', '601'])(
    'of mode %s is refused, with its mode',
    (mode) => {
      place(value, mode);
      const message = `can be read by others (mode ${mode})`;
      expect(() => tokenFor(file, undefined)).toThrow(message);
      expect(() => tokenFor(file, undefined)).toThrow(refused(/./));
    }
  );

  test.runIf(process.getuid?.() === 0)(
    'of another user is refused, even if only that user can read it',
    () => {
      place(value);
      chownSync(file, 65_534, 65_534);
      expect(() => tokenFor(file, undefined)).toThrow(
        refused(/belongs to another user/)
      );
    }
  );

  test('is refused if it is a link, even to a valid file', () => {
    place(value);
    renameSync(file, `${file}-real`);
    symlinkSync(`${file}-real`, file);
    expect(() => tokenFor(file, undefined)).toThrow(
      refused(/is a symbolic link/)
    );
  });

  test('is refused if it is a folder or a pipe', () => {
    mkdirSync(file, { recursive: true, mode: 0o700 });
    expect(() => tokenFor(file, undefined)).toThrow(refused(/is not a file/));
    const pipe = `${file}-pipe`;
    execFileSync('mkfifo', ['-m', '600', pipe]);
    expect(() => tokenFor(pipe, undefined)).toThrow(refused(/is not a file/));
  });

  test.each(['', 'short', `${value} ${value}`, `${value}\n${value}`])(
    'with the text %j is refused',
    (text) => {
      place(text);
      expect(() => tokenFor(file, undefined)).toThrow(
        refused(/holds no token/)
      );
    }
  );

  test('cannot be made where a file is in the place of its folder', () => {
    workspace.writeRecord('http', '');
    expect(() => tokenFor(file, undefined)).toThrow(
      expect.objectContaining({ code: 'storage_unwritable' })
    );
  });
});

describe('the check of an Authorization header', () => {
  const isToken = tokenCheck({ value, file: undefined });

  test.each([[`Bearer ${value}`], [`bearer   ${value}`], [`BEARER ${value}`]])(
    '%s is right',
    (header) => expect(isToken(header)).toBe(true)
  );

  test.each([
    [undefined],
    [''],
    ['Bearer'],
    ['Bearer '],
    [value],
    [`Basic ${value}`],
    [`Bearer ${value}x`],
    [`Bearer ${value.slice(0, -1)}`],
    [`Bearer ${value.toUpperCase()}`],
    [`Bearer ${value} x`],
    [`x Bearer ${value}`],
    [`Bearer${value}`]
  ])('%s is wrong', (header) => expect(isToken(header)).toBe(false));
});
