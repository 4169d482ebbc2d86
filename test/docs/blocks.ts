import type { MarkdownDocument } from '../kit/judges/documents.ts';

/** A fenced block of a page. */
export interface Block {
  /** Relative to the package. */
  path: string;
  line: number;
  /** The first word behind the fence; empty where there is none. */
  language: string;
  /** The page says that this is not to be checked: `text unchecked`. */
  isUnchecked: boolean;
  body: string;
  /** The nearest heading above. */
  heading: string;
  /** The block before this one under the same heading. */
  before?: Block;
}

/** All fenced blocks of a page, also within lists. */
export function blocksIn({ path, text }: MarkdownDocument): Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; block: Block; indent: number } | undefined;
  let heading = '';
  let before: Block | undefined;
  for (const [index, row] of text.split('\n').entries()) {
    const [, indent = '', fence, info = ''] =
      /^( *)(`{3,})(.*)$/.exec(row) ?? [];
    if (open) {
      const { block } = open;
      if (fence !== undefined && fence === open.fence && info === '') {
        blocks.push(block);
        before = block;
        open = undefined;
      } else block.body += `${row.slice(open.indent)}\n`;
    } else if (fence !== undefined) {
      const [language = '', ...words] = info.trim().split(/\s+/);
      const block: Block = {
        path,
        line: index + 1,
        language,
        isUnchecked: words.includes('unchecked'),
        body: '',
        heading,
        ...(before ? { before } : {})
      };
      open = { fence, block, indent: indent.length };
    } else if (/^#+ /.test(row)) {
      heading = row.replace(/^#+ /, '');
      before = undefined;
    }
  }
  return blocks;
}

/** Code within sentences, fences aside. */
export function inlineCodeIn({ text }: MarkdownDocument): string[] {
  const prose = text.replace(/^( *`{3,})[\s\S]*?^\1$/gm, '');
  return [...prose.matchAll(/(?<!`)(`{1,2})(?!`)([^\n]+?)\1(?!`)/g)].map(
    ([, , code = '']) => code.trim()
  );
}

/** A tool's name with its input, if that is what a text is. */
export function callIn(text: string): Call | undefined {
  const [, tool, input] =
    /^([a-z][a-z0-9_]*) (\{[\s\S]*\})\s*$/.exec(text) ?? [];
  return tool && input ? { tool, input } : undefined;
}

/** Several of them, each beginning on a line of its own. */
export function callsIn(text: string): Call[] {
  const calls = text.split(/\n(?=[a-z][a-z0-9_]* \{)/).map(callIn);
  return calls.every((call) => call !== undefined) ? calls : [];
}

export interface Call {
  tool: string;
  /** JSON. */
  input: string;
}
