import type { Facts } from '../../../answers/budget.ts';
import { visibleText } from '../../../core/text.ts';
import { fieldsOf, inLine, isNested, quoted } from './markdown.ts';

/** Texts that are longer, or have several lines, get lines of their own. */
const mostInline = 200;
/** These always do. */
const spoken = ['result', 'error', 'message'];

/**
 * An answer for clients that show its text to their user: a line for each
 * agent, then what it said, then the other facts. It is complete but for nulls
 * and empty texts, because some of these clients give their model nothing else.
 * Characters that would act on a terminal are shown as escapes.
 */
export function readable(facts: Facts): string {
  if (typeof facts.agent_id === 'string' && 'status' in facts)
    return rowText(facts);
  return Object.entries(facts).map(factText).join('\n').trim();
}

function factText([key, value]: [string, unknown]): string {
  if (!Array.isArray(value)) return `${key}: ${inLine(value)}`;
  if (value.length === 0) return `${key}: none`;
  if (value.every((one) => !isNested(one)))
    return `${key} (${value.length}): ${value.map(inLine).join(', ')}`;
  const rows = value.map((one) => rowText(fieldsOf(one)));
  return `\n${[`${key} (${value.length}):`, ...rows].join('\n\n')}\n`;
}

function rowText(row: Facts): string {
  const entries = Object.entries(row).filter(
    ([, value]) => value !== null && value !== ''
  );
  const words = entries.filter(
    ([key, value]) =>
      typeof value === 'string' &&
      (spoken.includes(key) ||
        value.length > mostInline ||
        value.includes('\n'))
  );
  const known = new Set(words.map(([key]) => key));
  const others = entries
    .filter(([key]) => !known.has(key))
    .map(([key, value]) => `${key}: ${inLine(value)}`);
  return [
    headOf(row),
    ...words.map(
      ([key, value]) => `${key}:\n${quoted(visibleText(String(value)))}`
    ),
    others.join(' · ')
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** `✓ 3f2a91bc codex completed, 25 s, $0.12`; empty if it is no agent. */
function headOf(row: Facts): string {
  const id = row.agent_id ?? row.id;
  if (typeof id !== 'string') return '';
  const seconds = row.duration_seconds ?? row.sec;
  const name = [id, row.agent_type ?? row.type, row.status]
    .filter((one) => typeof one === 'string')
    .map(inLine);
  const effort = [
    typeof seconds === 'number' ? `${seconds} s` : '',
    typeof row.cost_usd === 'number' ? `$${row.cost_usd}` : ''
  ];
  const facts = [name.join(' '), ...effort].filter((one) => one !== '');
  return `${markOf(row.status)} ${facts.join(', ')}`;
}

function markOf(status: unknown): string {
  if (status === undefined) return '•';
  if (status === 'completed') return '✓';
  return ['running', 'queued', 'asking'].includes(String(status)) ? '…' : '✗';
}
