import type { Finished } from './finish.ts';
import type { ClientPlan, Plan } from './plan.ts';

/** The document of `init --json`. */
export function reportOf(
  workspace: string,
  plans: ClientPlan[],
  access: Plan | undefined,
  written: string[] = [],
  finished?: Finished
) {
  const { checks, first } = finished ?? {};
  return {
    workspace,
    clients: plans.map(({ client, label, trace, ...plan }) => ({
      name: client.name,
      label,
      found: trace ?? null,
      ...fileOf(plan, written),
      check: checkOf(checks?.get(client.name))
    })),
    access: access ? fileOf(access, written) : null,
    first_task: first ? taskOf(first) : null
  };
}

function fileOf(
  { file, edit }: Pick<Plan, 'file' | 'edit'>,
  written: string[]
) {
  return {
    file,
    state: 'stays' in edit ? edit.stays : null,
    change: 'change' in edit ? edit.change : null,
    problem: 'problem' in edit ? edit.problem : null,
    written: written.includes(file)
  };
}

function checkOf(check: ReturnType<Finished['checks']['get']>) {
  if (!check) return null;
  return check.ok
    ? {
        ok: true,
        milliseconds: check.milliseconds,
        tools: check.tools,
        problem: null,
        next: null
      }
    : {
        ok: false,
        milliseconds: null,
        tools: [],
        problem: check.problem,
        next: check.next
      };
}

function taskOf(first: NonNullable<Finished['first']>) {
  const { engine } = first;
  return first.problem === undefined
    ? {
        engine,
        agent_id: first.agent_id,
        status: first.status,
        problem: null,
        entry: first.entry
      }
    : {
        engine,
        agent_id: null,
        status: null,
        problem: first.problem,
        entry: null
      };
}
