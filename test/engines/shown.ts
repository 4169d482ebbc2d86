import { factsInText } from '../kit/judges/readable-answer.ts';
import type { Action, Offer, Turn } from '../model-server/actions.ts';
import { type Json, record, string } from '../model-server/json.ts';

/** Codex's one tool for newer models: a script that may call every other tool. */
const scripts = 'functions/exec';

/**
 * How scripts ask for our tools that Codex has not shown: in two
 * halves, as it cuts what one script prints above some 40,000 characters.
 */
const lookUps = ['', '!'].map(
  (not): Action => ({
    do: 'tool',
    name: 'exec',
    arguments: {
      input: `text(JSON.stringify(ALL_TOOLS.filter(({ name }) => name.startsWith("mcp__agents") && ${not}name.startsWith("mcp__agents__s"))))`
    }
  })
);

/** What a model has to do before it knows of all tools. */
export function firstSteps(turn: Turn): Action[] {
  return turn.tools.includes(scripts) ? lookUps : [];
}

/** Every tool a model knows of, once it has taken its first steps. */
export function offersTo(turn: Turn): Offer[] {
  const lookedUp = turn.toolResults.slice(0, firstSteps(turn).length);
  return [...turn.offers, ...lookedUp.flatMap(listedIn)];
}

function listedIn(shown: string): Offer[] {
  const text = shown.slice(shown.indexOf('[{"name"'));
  const listed: { name: string; description: string }[] = JSON.parse(text);
  return listed.map(({ name, description }) => ({
    name: name.replace('mcp__agents__', 'mcp__agents/'),
    description,
    schema: declared(description)
  }));
}

/** The facts of an answer, out of what a client shows its model of it. */
export function factsIn(shown: string): Json {
  const facts = factsInText(shown);
  if (facts) return facts;
  for (
    let from = shown.indexOf('{');
    from >= 0;
    from = shown.indexOf('{', from + 1)
  ) {
    const value = parsed(shown.slice(from, shown.lastIndexOf('}') + 1));
    if (!value) continue;
    const { structuredContent, output } = value;
    if (typeof output === 'string') return factsIn(output);
    return structuredContent ? record(structuredContent) : value;
  }
  throw new Error(`No facts in: ${shown.slice(0, 500)}`);
}

function parsed(text: string): Json | undefined {
  try {
    return record(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A schema out of the arguments that Codex declares in TypeScript. */
function declared(description: string): Json {
  const args = /\(args: \{\n([\s\S]*?)\n\}\): /.exec(description)?.[1] ?? '';
  const lines = [...args.matchAll(/^ {2}(\w+)(\??): (.+);$/gm)];
  return {
    properties: Object.fromEntries(
      lines.map(([, name, , type]) => [name, { type: typeOf(string(type)) }])
    ),
    required: lines
      .filter(([, , optional]) => optional === '')
      .map(([, name]) => name)
  };
}

function typeOf(type: string): string {
  return type.startsWith('Array<') ? 'array' : type;
}
