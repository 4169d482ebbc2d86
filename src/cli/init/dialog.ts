import { visibleText } from '../../core/text.ts';
import type { Access } from '../../plugin/plugin.ts';
import type { Client } from '../clients/clients.ts';
import type { JsonFlag } from '../commands/command-options.ts';
import { colorsFor, print, printWords, report } from '../output/output.ts';
import { wrappedLines } from '../output/text.ts';
import { accessLevels, usualLevel } from './access-plan.ts';
import { type Extra, extraLabels } from './claude-extras.ts';
import type { EngineHere } from './engines-here.ts';
import { type ClientPlan, stateOf } from './plan.ts';

type Clack = typeof import('@clack/prompts');

export interface SetUpFlags extends JsonFlag {
  dryRun?: boolean;
  yes?: boolean;
  remove?: boolean;
  /** For all projects of the user. */
  user?: boolean;
  /** The hook and the status line of Claude Code. */
  hooks?: boolean;
  access?: Access;
  engine?: string;
  /** False with --no-check. */
  check: boolean;
}

export interface SetUpContext {
  workspace: string;
  flags: SetUpFlags;
  screen: Screen;
  /** The engines as this shell sees them; checked at the first call. */
  engines: () => Promise<EngineHere[]>;
  /** Absent in a pipe and with --yes. */
  questions?: Questions | undefined;
}

/**
 * Thrown when the user presses Ctrl-C or Escape at a prompt. The message says
 * what was done so far.
 */
export class Canceled extends Error {}

/** The prompts of `init` on a terminal. */
interface Questions {
  /** Resolves to true for all projects of the user. */
  isForUser: () => Promise<boolean>;
  clients: (plans: ClientPlan[], isRemoval: boolean) => Promise<Client[]>;
  access: () => Promise<Access>;
  extras: (missing: Extra[]) => Promise<Extra[]>;
  write: (files: number, isRemoval: boolean) => Promise<boolean>;
  /** Resolves to true when the user trusts the settings of the workspace. */
  trust: () => Promise<boolean>;
  /** The engine of the first task; undefined for none. */
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
    isForUser: async () =>
      answered(
        await clack.select({
          message: 'For which projects?',
          options: [
            { value: false, label: 'this project' },
            { value: true, label: 'all my projects' }
          ],
          initialValue: false
        })
      ),
    clients: async (plans, isRemoval) =>
      answered(
        await clack.multiselect({
          message: isRemoval
            ? 'Which clients do you want to remove troupe from?'
            : 'Which clients do you want to set up?',
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
          message: 'What may agents do in this project?',
          options: accessLevels.map(({ level, means }) => ({
            value: level,
            label: `${level.padEnd(6)} ${means}`,
            ...(level === usualLevel ? { hint: 'default' } : {})
          })),
          initialValue: usualLevel
        })
      ),
    extras: async (missing) =>
      answered(
        await clack.multiselect({
          message: 'What else may Claude Code do?',
          options: missing.map((extra) => ({
            value: extra,
            label: extraLabels[extra]
          })),
          initialValues: missing,
          required: false
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

/** The output of `init`. */
interface Screen {
  begin: (text: string) => void;
  report: (text: string) => void;
  good: (text: string) => void;
  warn: (text: string) => void;
  /** Results, which go to stdout in a pipe. */
  show: (heading: string, lines: string[]) => Promise<void>;
  /** Prints a text, such as an entry of IAC.md, without wrapping it. */
  quote: (heading: string, text: string) => Promise<void>;
  /** Runs `work`; a terminal shows a spinner meanwhile. */
  during: <T>(text: string, work: () => Promise<T>) => Promise<T>;
  end: (text: string) => void;
}

/** For a pipe: prints results to stdout and everything else to stderr. */
export const plainScreen: Screen = {
  begin: () => undefined,
  report,
  good: report,
  warn: report,
  show: (heading, lines) =>
    printWords(`${[...(heading ? [heading] : []), ...lines].join('\n')}\n`),
  quote: (heading, text) => {
    report(heading);
    return printWords(`${text}\n`);
  },
  during: (_, work) => work(),
  end: report
};

/** For --json: prints only warnings, to stderr. The caller prints the JSON. */
export const quietScreen: Screen = {
  ...plainScreen,
  report: () => undefined,
  good: () => undefined,
  show: async () => undefined,
  quote: async () => undefined,
  end: () => undefined
};

/** The columns of clack's bar and the spaces after it. */
const barColumns = 3;

/** For a terminal: prints with clack. */
export function terminalScreen(clack: Clack): Screen {
  const { log } = clack;
  return {
    begin: (text) => clack.intro(text),
    report: (text) => log.message(framed(text)),
    good: (text) => log.success(framed(text)),
    warn: (text) => log.warn(framed(text)),
    show: async (heading, lines) =>
      log.message([heading, ...lines.map(painted)].join('\n')),
    quote: async (heading, text) => {
      log.step(heading);
      await print(`\n${visibleText(text)}\n\n`);
    },
    during,
    end: (text) => clack.outro(text)
  };
}

/** Wraps a text, so that clack's bar continues on each line. */
function framed(text: string): string {
  const columns = (process.stdout.columns ?? 80) - barColumns;
  return wrappedLines(visibleText(text), columns).join('\n');
}

function painted(line: string): string {
  const { green, red, dim } = colorsFor(process.stdout);
  const text = visibleText(line);
  if (text.startsWith('+ ')) return green(text);
  return text.startsWith('- ') ? red(text) : dim(text);
}

const frames = ['◒', '◐', '◓', '◑'];
const frameMs = 120;

/**
 * Shows a spinner that leaves Ctrl-C to the caller, which first has to end
 * the processes that it started. Clack's own spinner catches Ctrl-C.
 */
async function during<T>(text: string, work: () => Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work();
  const { magenta } = colorsFor(process.stderr);
  const startedAt = performance.now();
  let count = 0;
  const draw = () => {
    const seconds = Math.floor((performance.now() - startedAt) / 1000);
    const frame = magenta(frames[count % frames.length] ?? '');
    const age = seconds > 1 ? ` ${seconds} s` : '';
    process.stderr.write(`\r\u001b[2K${frame}  ${text}…${age}`);
    count += 1;
  };
  draw();
  const timer = setInterval(draw, frameMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    process.stderr.write('\r\u001b[2K');
  }
}
