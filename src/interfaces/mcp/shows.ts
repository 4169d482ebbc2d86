import { type Config, hasToolset } from '../../config.ts';

/** Whether agents of the workspace, and their log, are resources. */
export function showsAgents(config: Config): boolean {
  return ['spawn', 'runs', 'squad'].some((name) => hasToolset(config, name));
}

/** Whether workers are. */
export function showsWorkers(config: Config): boolean {
  return hasToolset(config, 'orchestrator');
}
