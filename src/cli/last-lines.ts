import { blocksBack } from '../core/audit/journal-blocks.ts';
import { type JournalFiles, totalSize } from '../core/audit/journal-files.ts';
import { JournalReader } from '../core/audit/journal-reader.ts';
import { holdsRecord } from '../core/audit/parse-record.ts';

/** The journal's end, and what goes on from there. */
export interface LastLines {
  lines: string[];
  /** Hands over what was not read yet. */
  newLines: () => Promise<string[]>;
}

/**
 * The journal's last records as they stand there, oldest first, read from its
 * end. What a killed writer left torn is passed over.
 */
export function lastLines(files: JournalFiles, count: number): LastLines {
  const list = files.list();
  let offset = totalSize(list);
  /** Newest first. */
  const lines: string[] = [];
  for (const block of blocksBack(files, list, offset)) {
    const texts = block.text.split('\n');
    // Without a newline yet: it is told when it is whole.
    const isOpen = block.isLast && block.file.path === files.path;
    const rest = isOpen ? (texts.pop() ?? '') : '';
    if (isOpen) offset -= Buffer.byteLength(rest);
    while (lines.length < count && texts.length > 0) {
      const text = texts.pop() ?? '';
      if (holdsRecord(text)) lines.push(text);
    }
    if (lines.length >= count) break;
  }
  const reader = new JournalReader(files, { list, offset });
  return {
    lines: lines.reverse(),
    newLines: async () => {
      const fresh: string[] = [];
      await reader.read((line) => {
        if (holdsRecord(line)) fresh.push(line);
      });
      return fresh;
    }
  };
}
