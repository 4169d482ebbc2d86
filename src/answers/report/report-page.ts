import { createHash } from 'node:crypto';
import { type Html, type HtmlValue, html } from '../html.ts';
import { fileView } from './diff-view.ts';
import type { Relative, ReportData, ReportText } from './report-data.ts';
import { reportStyle } from './report-style.ts';
import { richText } from './rich-text.ts';
import { turnList } from './turn-list.ts';

/** A longer prompt is closed at first. */
const openPromptChars = 1200;
const titleChars = 160;

/**
 * A report as one HTML file that needs nothing else. It has no script, and its
 * policy allows none, and no request.
 */
export function reportPage(data: ReportData): string {
  const { id, task, status, summary, footer } = data;
  const title = titleOf(task);
  const page = html`
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} (${id})</title>
`;
  const body = html`
</head>
<body>
<header>
<p class="eyebrow">troupe report <code>${id}</code></p>
<h1>${title}</h1>
<p class="summary"><span class="status ${status}">${status}</span>${summary.map((fact) => html`<span>${fact}</span>`)}</p>
</header>
<main>
${errorSection(data)}
${factSection(data)}
${promptSection(data)}
${answerSection(data)}
${turnSection(data)}
${changeSection(data)}
${relativeSection(data)}
${entrySection(data)}
</main>
<footer><p>${footer}</p></footer>
</body>
</html>
`;
  // The style is ours, and a hash of exactly this text is in the policy.
  return `<!doctype html>${page}<style>${reportStyle}</style>${body}`;
}

const styleHash = createHash('sha256').update(reportStyle).digest('base64');
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;

function titleOf(task: string): string {
  const words = task.trim() || '(no words)';
  return words.length > titleChars
    ? `${words.slice(0, titleChars - 1)}…`
    : words;
}

function section(name: string, title: string, ...content: HtmlValue[]): Html {
  return html`<section id="${name}" aria-labelledby="${name}-title"><h2 id="${name}-title">${title}</h2>${content}</section>`;
}

function errorSection({ error, denials }: ReportData): Html | false {
  if (!error && denials.length === 0) return false;
  return section(
    'error',
    error ? 'What went wrong' : 'What it was refused',
    error &&
      html`<div class="callout"><pre>${error.message}</pre><p><code>${error.code}</code> ${error.hint}</p></div>`,
    denials.length > 0 &&
      html`<p>Refused for lack of permission:</p><ul class="plain">${denials.map((denial) => html`<li><code>${denial}</code></li>`)}</ul>`
  );
}

function factSection({ facts }: ReportData): Html {
  const rows = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [html`<div><dt>${name}</dt><dd>${value}</dd></div>`]
  );
  return section('facts', 'Facts', html`<dl>${rows}</dl>`);
}

function promptSection({ prompt, task }: ReportData): Html | false {
  // The title says all of it.
  if (prompt?.head.trim() === titleOf(task)) return false;
  if (!prompt)
    return section('prompt', 'Prompt', html`<p class="quiet">Not kept.</p>`);
  const text = html`<pre class="prose">${prompt.head.trimEnd()}</pre>${restOf(prompt)}`;
  const isShort = prompt.head.length <= openPromptChars && !prompt.tail;
  return section(
    'prompt',
    'Prompt',
    isShort
      ? text
      : html`<details><summary>${charsOf(prompt)} characters</summary>${text}</details>`
  );
}

function answerSection({ answer, status }: ReportData): Html {
  const isOver = !['running', 'queued', 'asking'].includes(status);
  const none = isOver ? 'Not kept.' : `The agent is ${status}.`;
  if (!answer)
    return section('answer', 'Answer', html`<p class="quiet">${none}</p>`);
  const isEmpty = answer.head.trim() === '' && !answer.tail;
  return section(
    'answer',
    'Answer',
    isEmpty
      ? html`<p class="quiet">It said nothing.</p>`
      : html`<div class="answer">${richText(answer.head)}${cutOf(answer)}${richText(answer.tail)}</div>`
  );
}

function turnSection({ turns, answer }: ReportData): Html | false {
  if (!turns || (turns.turns.length === 0 && !turns.more)) return false;
  return section(
    'turns',
    'Transcript',
    turns.more && html`<p class="cut">Earlier steps are left out.</p>`,
    turnList(turns.turns, answer?.tail === '' ? answer.head : '')
  );
}

function changeSection({ diff, changesNote }: ReportData): Html | false {
  if (!diff && changesNote === undefined) return false;
  const { files = [], filesLeftOut = 0 } = diff ?? {};
  const count = files.length + filesLeftOut;
  return section(
    'changes',
    count === 1 ? 'Changes (1 file)' : `Changes (${count} files)`,
    changesNote !== undefined && html`<p class="quiet">${changesNote}</p>`,
    files.map(fileView),
    filesLeftOut > 0 &&
      html`<p class="cut">${filesLeftOut} more files are left out.</p>`
  );
}

function relativeSection({ relatives }: ReportData): Html | false {
  if (relatives.length === 0) return false;
  return section(
    'lineage',
    'Lineage',
    html`<ul class="plain relatives">${relatives.map(relativeView)}</ul>`
  );
}

function relativeView({ id, relation, task, status }: Relative): Html {
  return html`<li><span class="kind">${relation}</span><div class="body"><code>${id}</code> <span class="status ${status ?? 'gone'}">${status ?? 'cleaned away'}</span> ${titleOf(task)}</div></li>`;
}

function entrySection({ entries }: ReportData): Html | false {
  if (entries.length === 0) return false;
  return section(
    'log',
    'Audit log',
    html`<ol class="plain entries">${entries.map(({ at, event, text }) => html`<li><time datetime="${at}">${timeOf(at)}</time><span class="event">${event}</span><div class="body">${text}</div></li>`)}</ol>`
  );
}

/** `2026-11-26 10:32:05`; the page says once that times are in UTC. */
export function timeOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

function restOf(text: ReportText): Html | false {
  return (
    text.tail !== '' &&
    html`${cutOf(text)}<pre class="prose">${text.tail.trimEnd()}</pre>`
  );
}

function cutOf({ charsLeftOut }: ReportText): Html | false {
  return (
    charsLeftOut > 0 &&
    html`<p class="cut">${charsLeftOut} characters are left out here.</p>`
  );
}

function charsOf({ head, tail, charsLeftOut }: ReportText): number {
  return head.length + tail.length + charsLeftOut;
}
