import type { NumberedTurn } from '../../core/runs/turns/turn-page.ts';
import type { ParsedDiff } from '../unified-diff.ts';

/** A text of a run, redacted, and cut in its middle if it is very long. */
export interface ReportText {
  head: string;
  /** Empty for a text that is whole. */
  tail: string;
  charsLeftOut: number;
}

/** A run as another run refers to it. */
export interface Relative {
  id: string;
  /** What it is to the run: "Spawned by", "Continues", … */
  relation: string;
  task: string;
  /** Undefined for a run that was cleaned away. */
  status: string | undefined;
}

export interface ReportEntry {
  at: string;
  event: string;
  text: string;
}

/** All that a report shows. Secrets are already removed from all of it. */
export interface ReportData {
  id: string;
  task: string;
  status: string;
  /** The first facts of the page, in a line. */
  summary: string[];
  /** Name → value; undefined is left out. */
  facts: Record<string, string | undefined>;
  prompt: ReportText | undefined;
  /** Undefined while the run goes on, or when the file is gone. */
  answer: ReportText | undefined;
  error: { message: string; code: string; hint: string } | undefined;
  denials: string[];
  /** Undefined for an engine without a transcript. */
  turns: { turns: NumberedTurn[]; more: boolean } | undefined;
  diff: ParsedDiff | undefined;
  /** Changed files that the diff does not have, and why. */
  changesNote: string | undefined;
  relatives: Relative[];
  entries: ReportEntry[];
  /** When it was written, and by which version. */
  footer: string;
}
