import type { NewCommand, NewEvent } from './records.ts';
import type { TaskQueue } from './task-queue.ts';

/** What a change adds to the logs, and what its caller is told. */
export interface Change<Told> {
  commands?: NewCommand[];
  events?: NewEvent[];
  told: Told;
}

/** Gives the lines of several changes their numbers, each upon the last. */
export class LogWriter {
  readonly queue: TaskQueue;
  readonly commands: string[] = [];
  readonly events: string[] = [];

  constructor(queue: TaskQueue) {
    this.queue = queue;
  }

  add({ commands = [], events = [] }: Change<unknown>): void {
    const at = new Date().toISOString();
    for (const command of commands) {
      const seq = this.queue.state.commandSeq + 1;
      const whole = { seq, at, ...command };
      this.queue.apply(whole);
      this.commands.push(JSON.stringify(whole));
    }
    for (const event of events) {
      const seq = this.queue.state.eventSeq + 1;
      const whole = { seq, at, ...event };
      this.queue.happened(whole);
      this.events.push(JSON.stringify(whole));
    }
  }
}
