import { type Config, hasToolset } from '../../../config/config.ts';
import type { OpenAsk } from '../../../core/asks/answers/asks.ts';

/**
 * Phrases that name the next call: tools of the toolset `runs`, or commands if
 * the server does not have these tools.
 */
interface NextCalls {
  wait: (agentId: string) => string;
  /** Reads the answer of an ended agent. */
  result: (agentId: string) => string;
  /** Waits for the answers of the agents in `still_running`. */
  waitForRest: string;
  waitForSquad: (squadId: string) => string;
  /** Answers the asks in `asks`. */
  answerFirst: string;
  /** Reads on from `next_offset`. */
  readOn: string;
  /** The note in an answer that leaves out facts of agents. */
  shortNote: string;
}

export const byTool: NextCalls = {
  wait: (id) => `wait_for_agents {"agent_ids":["${id}"]} gives its answer`,
  result: (id) => `result {"agent_id":"${id}"}`,
  waitForRest: 'Call wait_for_agents with still_running as agent_ids',
  answerFirst: 'Answer each of asks with answer_agent first: they wait.',
  waitForSquad: (id) => `Next: wait_for_agents {"squadId":"${id}"}`,
  readOn:
    'A result with next_offset is cut: call result with its agentId and that as offset to read on.',
  shortNote:
    'Shortened: result gives each in full, and reads on from next_offset.'
};

const byCommand: NextCalls = {
  wait: (id) => `the command "troupe wait ${id}" gives its answer`,
  result: (id) => `the command "troupe result ${id}"`,
  waitForRest: 'The command "troupe wait" gives them, with these ids',
  answerFirst: 'The command "troupe answer" answers each of asks: they wait.',
  waitForSquad: () => 'The command "troupe result" gives each, by its agentId',
  readOn:
    'A result with next_offset is cut: the command "troupe result" gives all of it, by its agentId.',
  shortNote: 'Shortened: the command "troupe result" gives each in full.'
};

/** What to do about asks: some are for a person alone. */
export function answerAsks(asks: OpenAsk[], config: Config): string {
  return asks.every(({ record }) => record.ask === 'person')
    ? 'A person answers asks: ask the user to run "troupe asks".'
    : waysOn(config).answerFirst;
}

export function waysOn(config: Config): NextCalls {
  return hasRuns(config) ? byTool : byCommand;
}

/** Whether the tools that follow agents are served. */
export function hasRuns(config: Config): boolean {
  return hasToolset(config, 'runs');
}
