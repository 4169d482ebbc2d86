import { InvalidArgumentError } from 'commander';
import { expect, test } from 'vitest';
import {
  parseAge,
  parseBytes,
  parseCount,
  parseSeconds
} from './command-options.ts';

const dayMs = 86_400_000;

test.each([
  [parseSeconds, '0.5', 0.5],
  [parseSeconds, '604800', 604_800],
  [parseCount, '0', 0],
  [parseCount, '999999999', 999_999_999],
  [parseAge, '60s', 60_000],
  [parseAge, '90m', 90 * 60_000],
  [parseAge, '12h', dayMs / 2],
  [parseAge, '1.5d', 1.5 * dayMs],
  [parseAge, '2w', 14 * dayMs],
  [parseAge, '0d', 0],
  [parseBytes, '0B', 0],
  [parseBytes, '10KB', 10 * 1024],
  [parseBytes, '1.5 mb', 1.5 * 1024 ** 2],
  [parseBytes, '2GB', 2 * 1024 ** 3],
  [parseBytes, '1tb', 1024 ** 4]
])('%o reads %s as %d', (parse, text, value) => {
  expect(parse(text)).toBe(value);
});

test.each([
  ...['', ' ', '0', '-1', '604801', 'x', '1s', 'NaN'].map(
    (text) => [parseSeconds, text] as const
  ),
  ...['', '-1', '1.5', '1e3', 'x', '1234567890'].map(
    (text) => [parseCount, text] as const
  ),
  ...['', '7', 'd', '7y', '-1d', '7d ', '1234567d', 'x7d', '7D'].map(
    (text) => [parseAge, text] as const
  ),
  ...['', '5', 'GB', '-1GB', '1PB', '1GBs', 'x1GB', '1  GB'].map(
    (text) => [parseBytes, text] as const
  )
])('%o refuses "%s"', (parse, text) => {
  expect(() => parse(text)).toThrow(InvalidArgumentError);
});
