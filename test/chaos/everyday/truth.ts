/** What is known when an answer has come. */
export interface Known {
  /** Reported and not removed before the question. */
  ids: Set<string>;
  /** Their end had been reported before the question. */
  ended: Set<string>;
  /** At work from before the question until after the answer. */
  atWork: Set<string>;
  /** Their program has said that its work is done. */
  done: Set<string>;
}

/** What an answer says of one agent. */
export interface Said {
  id: string;
  status: string;
}

/** Where an answer does not say what is. */
export function contradictions(known: Known, said: Said[]): string[] {
  return said.flatMap(({ id, status }) => {
    const isActive = status === 'running' || status === 'queued';
    const faults: string[] = [];
    if (isActive && known.ended.has(id)) faults.push('after its end');
    if (!isActive && known.atWork.has(id)) faults.push('while it is at work');
    if (status === 'completed' && !known.done.has(id))
      faults.push('though it is not done');
    if (status === 'not_found' && known.ids.has(id))
      faults.push('though it was acknowledged');
    return faults.map((fault) => `${id} is ${status} ${fault}`);
  });
}

/** Agents at work that a list of all active ones leaves out. */
export function leftOut({ atWork }: Known, said: Said[]): string[] {
  const shown = new Set(said.map(({ id }) => id));
  return [...atWork].filter((id) => !shown.has(id));
}
