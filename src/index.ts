/** The public API: troupe inside another program. */
export { type Config, loadConfig } from './config/config.ts';
export type { Flags } from './config/overrides.ts';
export { HostError, type HostErrorCode } from './core/errors.ts';
export type { Outcome, Run, RunRecord, RunStatus } from './core/runs/run.ts';
export type { SpawnRequest } from './core/runs/spawn-request.ts';
export { createHost, Host } from './host/host.ts';
export type { HttpOptions, HttpServer } from './interfaces/http/serve-http.ts';
export type {
  AddedCall,
  AddedTool,
  Additions
} from './interfaces/mcp/server/additions.ts';
export type * from './plugin/plugin.ts';

/** Serves a host over HTTP. The protocol's SDK is loaded at the first call. */
export const serveHttp: typeof import('./interfaces/http/serve-http.ts').serveHttp =
  async (...args) =>
    (await import('./interfaces/http/serve-http.ts')).serveHttp(...args);
