/**
 * Converts prompts/*.md to the form that each client offers to its user:
 * commands of Claude Code and Gemini CLI, skills of Codex and Copilot CLI.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';

/** @typedef {{ name: string, description: string, usage: string, body: string,
 *   wanted: string, optional: { name: string, fallback: string }[] }} Prompt */

/**
 * @returns {Prompt[]} sorted by name
 */
export function readPrompts(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .sort()
    .map((file) => readPrompt(folder, file));
}

function readPrompt(folder, file) {
  const text = readFileSync(join(folder, file), 'utf8');
  const [, head, body] = /^---\n(.*?)\n---\n+(.*)$/s.exec(text) ?? [];
  if (head === undefined) throw new Error(`${file} has no frontmatter`);
  const { description, arguments: all } = parse(head);
  const [wanted, ...others] = all.filter(({ required }) => required);
  if (!wanted || others.length > 0)
    throw new Error(`${file} needs exactly one required argument`);
  return {
    name: basename(file, '.md'),
    description,
    usage: `<${wanted.name}>`,
    wanted: wanted.name,
    optional: all
      .filter(({ required }) => !required)
      .map((one) => ({ name: one.name, fallback: one.default })),
    body: body.trim()
  };
}

/** Markdown with frontmatter; the client fills in `$ARGUMENTS`. */
export function claudeCommand(prompt) {
  const body = filled(prompt, '$ARGUMENTS');
  // Claude Code would insert the output of a program, a file or an argument.
  refuse(prompt, body, [/!\s?`/, /(^|\s)@\S/, /\$\d/]);
  return withHead(
    {
      description: prompt.description,
      'argument-hint': prompt.usage
    },
    body
  );
}

/** TOML; the client fills in `{{args}}`. */
export function geminiCommand(prompt) {
  const body = filled(prompt, '{{args}}');
  refuse(prompt, body, [/!\{/, /@\{/, /'''/]);
  const description = JSON.stringify(prompt.description);
  return `description = ${description}\nprompt = '''\n${body}\n'''\n`;
}

/** A skill refers to the message of the user: clients fill in nothing. */
export function agentSkill(prompt) {
  const body = filled(
    prompt,
    `(the ${prompt.wanted} is what the user said where this skill was asked for)`
  );
  return withHead({ name: prompt.name, description: prompt.description }, body);
}

/** Replaces the parameters of a prompt with one text that the user types. */
function filled({ name, body, wanted, optional }, typed) {
  let text = body.replaceAll(`{{${wanted}}}`, typed);
  for (const { name: parameter, fallback } of optional)
    text = text.replaceAll(`{{${parameter}}}`, `as said above; if ${fallback}`);
  const left = /\{\{(?!args\}\})[^}]*\}\}/.exec(text);
  if (left) throw new Error(`${name}.md has no argument for ${left[0]}`);
  return text;
}

function refuse({ name }, body, patterns) {
  const found = patterns.map((one) => one.exec(body)).find(Boolean);
  if (found) throw new Error(`${name}.md has ${found[0]}, which a client runs`);
}

function withHead(head, body) {
  const lines = Object.entries(head).map(
    ([key, value]) => `${key}: ${JSON.stringify(value)}`
  );
  return `---\n${lines.join('\n')}\n---\n\n${body}\n`;
}
