/** The list in RESULTS.md of the limits that were not kept. */
import { replaced } from './summary.mjs';

export function verdictOn(reports) {
  return listOf(reports.flatMap(missedIn));
}

/** Replaces the lines of the sections that were measured again. */
export function updatedVerdict(text, reports) {
  const [, list = ''] = text.split(/^\*\*\d+ not kept:\*\*\n/m);
  const lines = list
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => line.slice(2));
  const missed = reports.reduce((kept, report) => {
    const isOld = (line) => line.startsWith(startIn(report));
    return replaced(kept, isOld, missedIn(report));
  }, lines);
  return listOf(missed);
}

function listOf(missed) {
  return missed.length === 0
    ? ['Every limit is kept.']
    : [`**${missed.length} not kept:**`, ...missed.map((line) => `- ${line}`)];
}

function missedIn(report) {
  return report.rows
    .filter(({ pass }) => pass === false)
    .map(({ name, text, median, ratio, limit, absolute, unit }) => {
      const measured = absolute
        ? `${median.toFixed(0)} ${unit}, limit ${limit} ${unit}`
        : `${ratio?.toFixed(2)}×, limit ${limit}×`;
      return `${startIn(report)}${name}: ${text ?? measured}`;
    });
}

function startIn({ title }) {
  return `${title}: `;
}
