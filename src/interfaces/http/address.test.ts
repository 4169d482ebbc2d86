import { expect, test } from 'vitest';
import {
  addressIn,
  checkReach,
  nameOf,
  unreachable,
  urlOf
} from './address.ts';

test.each([
  ['', '127.0.0.1', 8377],
  ['0', '127.0.0.1', 0],
  ['65535', '127.0.0.1', 65_535],
  ['localhost:80', 'localhost', 80],
  ['0.0.0.0:8000', '0.0.0.0', 8000],
  ['[::1]:8377', '::1', 8377],
  ['[FE80::1]:1', 'FE80::1', 1]
])('the address "%s" is %s, port %i', (text, host, port) => {
  expect(addressIn(text)).toEqual({ host, port });
});

test.each([
  ['65536'],
  ['-1'],
  ['x'],
  [':80'],
  ['localhost'],
  ['::1:80'],
  ['http://localhost:80'],
  ['a b:80'],
  ['80\n']
])('%j is refused as an address', (text) => {
  expect(() => addressIn(text)).toThrow(
    expect.objectContaining({ code: 'config_invalid' })
  );
});

test.each([
  [{ host: '127.0.0.1', port: 1 }, 'http://127.0.0.1:1/mcp'],
  [{ host: '::1', port: 1 }, 'http://[::1]:1/mcp'],
  [{ host: '[::1]', port: 1 }, 'http://[::1]:1/mcp'],
  [{ host: 'a.example', port: 1 }, 'http://a.example:1/mcp']
])('the URL of %o is %s', (address, url) => {
  expect(urlOf(address)).toBe(url);
});

const loopback = ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.9.9', '::1'];
const reachable = ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil', 'x127.0.0.1'];

test.each(loopback)('%s needs no allowed name', (host) => {
  expect(() => checkReach({ host, port: 0 }, [])).not.toThrow();
  expect(nameOf({ host, port: 0 }, ['a.example'])).toBe(host);
});

test.each(reachable)('%s needs an allowed name', (host) => {
  expect(() => checkReach({ host, port: 0 }, [])).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      hint: expect.stringContaining('--allow-host')
    })
  );
  expect(() => checkReach({ host, port: 0 }, ['a.example'])).not.toThrow();
  expect(nameOf({ host, port: 0 }, ['a.example'])).toBe('a.example');
  expect(nameOf({ host, port: 0 }, [])).toBe(host);
});

test.each([
  ['EADDRINUSE', 'Port 80 of a.example is in use.'],
  ['EACCES', 'Port 80 of a.example cannot be listened on (EACCES).'],
  ['ENOTFOUND', 'a.example is not an address of this machine (ENOTFOUND).'],
  ['EAI_AGAIN', 'a.example is not an address of this machine (EAI_AGAIN).'],
  [
    'EADDRNOTAVAIL',
    'a.example is not an address of this machine (EADDRNOTAVAIL).'
  ]
])('the error %s of listen becomes "%s"', (code, message) => {
  const error = Object.assign(new Error('x'), { code });
  expect(unreachable({ host: 'a.example', port: 80 }, error)).toMatchObject({
    code: 'config_invalid',
    message
  });
});
