import { z } from 'zod';
import { lazy } from '../core/lazy.ts';
import { defaultConfig } from './defaults.ts';

/** The configuration's `http`. */
export const httpSchema = lazy(() => {
  // A name as in a Host header, without the port.
  const hostName = z
    .string()
    .regex(/^(\[[0-9a-f:.]+\]|\w[\w.-]{0,251}\w|\w)$/i, {
      error: 'is not a host name: give it without scheme, port and path'
    });

  const origin = z.string().regex(/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/i, {
    error: 'is not an origin, such as https://app.example'
  });

  const defaults = defaultConfig().http;
  return z
    .strictObject({
      sessions: z
        .number()
        .int()
        .min(1)
        .max(1000)
        .default(defaults.sessions)
        .describe('Clients at once.'),
      idleMinutes: z
        .number()
        .positive()
        .max(10_080)
        .default(defaults.idleMinutes)
        .describe(
          'A session ends after this time without a call or an open stream.'
        ),
      bodyMegabytes: z
        .number()
        .positive()
        .max(64)
        .default(defaults.bodyMegabytes)
        .describe('The largest message of a client.'),
      allowedHosts: z
        .array(hostName)
        .default(defaults.allowedHosts)
        .describe('`Host` names besides those of this machine, without port.'),
      allowedOrigins: z
        .array(origin)
        .default(defaults.allowedOrigins)
        .describe(
          "Values of `Origin` besides the server's own, such as `https://board.example`."
        )
    })
    .describe('How `troupe mcp --http` treats its clients.');
});

/** Holds the bearer token that replaces the stored one. */
export const tokenVariable = 'TROUPE_HTTP_TOKEN';
