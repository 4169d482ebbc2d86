import type { Access } from '../../plugin.ts';
import type { Client } from '../clients.ts';
import { accessLevels } from './access-plan.ts';
import { type ClientPlan, stateOf } from './plan.ts';

type Clack = typeof import('@clack/prompts');

/** The person has had enough: Ctrl-C or Escape. The message says how it is. */
export class Canceled extends Error {}

/** What a person is asked, in front of a terminal. */
export interface Questions {
  clients: (plans: ClientPlan[], isRemoval: boolean) => Promise<Client[]>;
  access: () => Promise<Access>;
  write: (files: number, isRemoval: boolean) => Promise<boolean>;
  /** Whether what the workspace asks for is to count. */
  trust: () => Promise<boolean>;
  /** Who does the first task; undefined: nobody. */
  engine: (ready: string[]) => Promise<string | undefined>;
}

export function questionsOf(clack: Clack): Questions {
  const answered = <T>(
    answer: T | Clack['CANCEL_SYMBOL'],
    soFar = 'nothing was written'
  ): T => {
    if (clack.isCancel(answer)) throw new Canceled(soFar);
    return answer;
  };
  return {
    clients: async (plans, isRemoval) =>
      answered(
        await clack.multiselect({
          message: isRemoval
            ? 'Which clients shall lose troupe?'
            : 'Which clients shall have troupe?',
          options: plans.map(({ client, trace, edit }) => ({
            value: client,
            label: client.label,
            hint: [
              trace === undefined ? 'not found here' : 'found',
              ...('change' in edit ? [] : [stateOf(edit)])
            ].join(', ')
          })),
          initialValues: plans
            .filter(({ trace }) => isRemoval || trace !== undefined)
            .map(({ client }) => client),
          required: false
        })
      ),
    access: async () =>
      answered(
        await clack.select({
          message:
            'What may agents do in this project? Unless it is set, it is full.',
          options: accessLevels.map(({ level, means }) => ({
            value: level,
            label: `${level.padEnd(6)} ${means}`,
            ...(level === 'write' ? { hint: 'recommended' } : {})
          })),
          initialValue: 'write'
        })
      ),
    write: async (files, isRemoval) =>
      answered(
        await clack.confirm({
          message: `${isRemoval ? 'Take that out of' : 'Write'} ${
            files === 1 ? 'this file' : `these ${files} files`
          }?`
        })
      ),
    trust: async () =>
      answered(
        await clack.confirm({
          message: 'Trust this workspace? Its programs run as you.',
          initialValue: false
        }),
        'nothing was trusted'
      ),
    engine: async (ready) => {
      const none = '';
      const chosen = answered(
        await clack.select({
          message: 'Try it now? An agent looks at this project, read only.',
          options: [
            ...ready.map((name) => ({
              value: name,
              label: name,
              hint: 'asks its model, which may cost a little'
            })),
            {
              value: 'rehearsal',
              label: 'rehearsal',
              hint: 'a stand-in without a model, costs nothing'
            },
            { value: none, label: 'not now' }
          ]
        }),
        'nothing more was done'
      );
      return chosen === none ? undefined : chosen;
    }
  };
}
