/**
 * The table at the start of RESULTS.md: one line for each row or fact with
 * `summary`. A line ends with a link to its section.
 */
import { figure, limitOf, ratioOf } from './statistics.mjs';

const head = [
  '| what | floor or best peer | reach | measured | verdict |',
  '|---|---|---|---|---|'
];

export function summaryOf(reports) {
  return [...head, ...reports.flatMap(linesOf)];
}

/** Replaces the lines of the sections that were measured again. */
export function updatedSummary(lines, reports) {
  const old = lines.filter((line) => line.startsWith('| ')).slice(1);
  const updated = reports.reduce((kept, report) => {
    const end = `](${anchorOf(report.title)}) |`;
    return replaced(kept, (line) => line.endsWith(end), linesOf(report));
  }, old);
  return [...head, ...updated];
}

/** Puts lines in the place of old ones, or behind all others. */
export function replaced(lines, isOld, current) {
  const place = lines.findIndex(isOld);
  const others = lines.filter((line) => !isOld(line));
  others.splice(place < 0 ? others.length : place, 0, ...current);
  return others;
}

function linesOf({ title, rows }) {
  return rows
    .filter(({ summary }) => summary !== undefined)
    .map((row) => {
      const cells = row.text === undefined ? figuresOf(row) : wordsOf(row);
      const verdict = `[${verdictOf(row)}](${anchorOf(title)})`;
      return `| ${[row.summary, ...cells, verdict].join(' | ')} |`;
    });
}

function figuresOf(row) {
  const value = `${figure(row.median)} ${row.unit}`;
  const floor = row.floor === undefined ? '–' : figure(row.floor);
  return [
    floor === '–' ? floor : `${floor} ${row.unit}`,
    limitOf(row),
    row.absolute || row.ratio === undefined
      ? value
      : `${ratioOf(row.ratio)} (${value})`
  ];
}

function wordsOf({ text, floor = '–', reach = '–' }) {
  return [floor, reach, text];
}

function verdictOf({ pass }) {
  if (pass === undefined) return 'told';
  return pass ? 'reached' : '**not reached**';
}

/** The anchor that GitHub makes of a heading. */
function anchorOf(title) {
  const text = title.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '');
  return `#${text.replaceAll(' ', '-')}`;
}
