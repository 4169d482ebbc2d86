import type { Random } from '../judges/random.ts';
import { until } from '../judges/until.ts';
import { eventsOf, workersSeen } from '../servers/orchestrator-calls.ts';
import {
  type Backend,
  createOrchestratorStage
} from '../servers/orchestrator-stage.ts';
import {
  aftermath,
  Fire,
  hasLiveServer,
  Master,
  victims
} from './worker-chaos.ts';

interface Policy {
  restart: 'never' | 'on-crash';
  runningTask: 'requeue' | 'fail';
}

export interface Plan extends Policy {
  backend: Backend;
  random: Random;
}

export interface Played {
  kills: number;
  /** The faults and their targets, in order. */
  story: string[];
  /** What should not be so. */
  faults: string[];
}

const tasks = Array.from({ length: 10 }, (_, index) => `task-${index}`);
const scripts = ['say it', 'sleep 0.05\nsay it', 'sleep 0.2\nsay it'];
const patienceMs = 60_000;

/**
 * Ten tasks for one worker, while its program, its server and the master are
 * killed and paused at random moments; then it is deleted, and judged.
 */
export async function playRound(plan: Plan): Promise<Played> {
  const { backend, random, ...settings } = plan;
  const stage = createOrchestratorStage(backend, { settings });
  const master = new Master(stage);
  const fire = new Fire(master, random);
  const round = new Round(master, fire, random);
  try {
    const id = await round.create();
    const striking = round.strike(id);
    striking.catch(() => undefined);
    const acknowledged = await round.give(id);
    const [how] = await Promise.all([round.end(id, striking), striking]);
    fire.story.push(how);
    await round.endOthers();
    const faults = await round.untruths(settings);
    await master.close();
    const isLeft = () =>
      stage.processes('').length > 0 ||
      hasLiveServer(id) ||
      (backend === 'tmux' &&
        stage
          .screen()
          .panes()
          .some(({ agent }) => agent));
    await until('nobody to be left', () => !isLeft(), patienceMs);
    faults.push(...aftermath(stage, new Map([[id, acknowledged]])));
    return { kills: fire.kills, story: fire.story, faults };
  } catch (error) {
    const story = `seed ${random.seed}: ${fire.story.join(', ')}`;
    throw new Error(story, { cause: error });
  } finally {
    await stage.close();
  }
}

class Round {
  readonly #master: Master;
  readonly #fire: Fire;
  readonly #random: Random;

  constructor(master: Master, fire: Fire, random: Random) {
    this.#master = master;
    this.#fire = fire;
    this.#random = random;
  }

  /** A worker; sometimes a master was killed that was to make one before. */
  async create(): Promise<string> {
    const args = { name: 'a worker', role: 'You do what the tasks say.' };
    if (this.#isSo(0.4)) {
      const creating = this.#master.call('agent_create', args);
      await this.#fire.moment(700);
      await this.#fire.kill('master', '');
      const made = await creating;
      if (made) return String(made.data.agent_id);
    }
    const { data, isError, text } = await this.#master.insist(
      'agent_create',
      args
    );
    if (isError) throw new Error(text);
    return String(data.agent_id);
  }

  /** Gives all tasks; returns the acknowledged ones. */
  async give(agent_id: string): Promise<string[]> {
    const acknowledged: string[] = [];
    for (const task_id of tasks) {
      const payload = scripts[this.#random.between(0, scripts.length - 1)];
      const task = { task_id, payload };
      let answer = await this.#master.call('task_enqueue', { agent_id, task });
      const isUnknown = answer === undefined;
      if (isUnknown && this.#isSo(0.5))
        answer = await this.#master.insist('task_enqueue', { agent_id, task });
      const code = answer?.data.error_code;
      if (code === 'agent_over') break;
      // The master that was killed had written it down.
      const isThere = isUnknown && code === 'task_exists';
      if (answer?.isError && !isThere) throw new Error(answer.text);
      if (answer) acknowledged.push(task_id);
      await this.#fire.moment(60);
    }
    return acknowledged;
  }

  async strike(agentId: string): Promise<void> {
    for (let left = this.#random.between(2, 5); left > 0; left -= 1) {
      await this.#fire.moment(450);
      const victim = victims[this.#random.between(0, victims.length - 1)];
      if (!victim) continue;
      if (this.#isSo(0.3)) await this.#fire.pause(victim, agentId);
      else await this.#fire.kill(victim, agentId);
      // A worker that is killed three times before it works is given up.
      if (this.#isSo(0.8)) await this.#untilStarted(agentId);
    }
  }

  /** Deletes the worker in one of three ways, and waits for that. */
  async end(agent_id: string, striking: Promise<void>): Promise<string> {
    const force = this.#isSo(0.2);
    const isDrained = this.#isSo(0.6);
    if (isDrained && !force) {
      await striking;
      await this.#until(
        'all to be done',
        agent_id,
        ({ status, queue_depth, running_task_id }) =>
          isOver(status) || (queue_depth === 0 && running_task_id === null)
      );
    }
    await this.#delete(agent_id, force);
    const done = isDrained ? 'when all was done' : 'amid its tasks';
    return force ? 'deleted by force' : `deleted ${done}`;
  }

  /** Workers whose creation was never answered. */
  async endOthers(): Promise<void> {
    const server = await this.#master.server();
    for (const { agent_id, status } of await workersSeen(server, 'all'))
      if (status !== 'stopped') await this.#delete(agent_id, true);
  }

  /** Reports of the tools that are wrong or that the policy forbids. */
  async untruths({ restart, runningTask }: Policy): Promise<string[]> {
    const server = await this.#master.server();
    const faults: string[] = [];
    for (const seen of await workersSeen(server, 'all')) {
      const { status, queue_depth, running_task_id, last_event_seq } = seen;
      const events = await eventsOf(server, seen.agent_id);
      const told = [status, queue_depth, running_task_id, last_event_seq];
      const truth = ['stopped', 0, null, events.length];
      const isGivenAgain = restart === 'on-crash' && runningTask === 'requeue';
      const forbidden = isGivenAgain ? 'worker_crashed' : 'requeued';
      if (JSON.stringify(events).includes(`"${forbidden}"`))
        faults.push(`${forbidden} is against the policy`);
      if (`${told}` !== `${truth}`) faults.push(`told ${told}, not ${truth}`);
    }
    return faults;
  }

  async #delete(agent_id: string, force: boolean): Promise<void> {
    const args = { agent_id, force, ...(force ? { confirm: true } : {}) };
    const { isError, text } = await this.#master.insist('agent_delete', args);
    if (isError) throw new Error(text);
    await this.#until(
      'it to be stopped',
      agent_id,
      ({ status }) => status === 'stopped'
    );
  }

  #untilStarted(agentId: string) {
    return this.#until(
      'it to be started',
      agentId,
      ({ status }) => status !== 'starting'
    );
  }

  #until(
    what: string,
    agent_id: string,
    isSo: (meta: Record<string, unknown>) => boolean
  ): Promise<unknown> {
    const look = async () => {
      const answer = await this.#master.insist('agent_get', { agent_id });
      if (answer.isError) throw new Error(answer.text);
      return isSo({ ...Object(answer.data.meta) }) || undefined;
    };
    return until(what, look, patienceMs);
  }

  #isSo(chance: number): boolean {
    return this.#random.next() < chance;
  }
}

function isOver(status: unknown): boolean {
  return status === 'crashed' || status === 'stopped';
}
