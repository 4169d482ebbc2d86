import { Lexer } from 'marked';
import { html } from './html.mjs';

/** Characters of the newest blocks of a long text; `Earlier` shows more. */
export const mostChars = 20_000;

/** The index of the first of the last blocks that have so many characters. */
export function firstOfLast(blocks, chars) {
  let left = chars;
  for (let index = blocks.length - 1; index > 0; index -= 1) {
    left -= blocks[index].raw.length;
    if (left < blocks[index - 1].raw.length) return index;
  }
  return 0;
}

/**
 * Markdown of an agent as elements. No HTML string is ever made: HTML in the
 * text stays text, images are named and not loaded, and only links to web
 * pages and mail addresses are links.
 */
export function blocksOf(text) {
  return new Lexer({ gfm: true })
    .lex(text)
    .filter(({ type }) => type !== 'space' && type !== 'def');
}

/** @param level of the heading above the text */
export function Markdown({ blocks, level = 2 }) {
  const headings = { above: level, last: level };
  return html`<div class="markdown">${blocks.map((block) => blockOf(block, headings))}</div>`;
}

function blockOf(token, headings) {
  switch (token.type) {
    case 'heading': {
      // Screen readers need levels without gaps.
      const wanted = headings.above + token.depth;
      const level = Math.min(wanted, headings.last + 1, 6);
      headings.last = level;
      return html`<${`h${level}`} class=${`depth-${token.depth}`}>${inline(token.tokens)}<//>`;
    }
    case 'paragraph':
      return html`<p>${inline(token.tokens)}</p>`;
    case 'code':
      return html`<${Code} text=${token.text} language=${token.lang} />`;
    case 'blockquote':
      return html`<blockquote>${token.tokens.map((one) => blockOf(one, headings))}</blockquote>`;
    case 'list':
      return listOf(token, headings);
    case 'table':
      return tableOf(token);
    case 'hr':
      return html`<hr />`;
    case 'space':
    case 'def':
      return null;
    case 'text':
      return token.tokens ? inline(token.tokens) : decoded(token.text);
    case 'checkbox':
      return null;
    default:
      return html`<p class="literal">${token.raw}</p>`;
  }
}

function Code({ text, language = '' }) {
  const label = language ? `code: ${language}` : 'code';
  return html`<pre class="code" tabindex="0" aria-label=${label} role="group"><code>${text}</code></pre>`;
}

function listOf({ ordered, start, items }, headings) {
  const entries = items.map((item) => {
    const mark = item.task ? (item.checked ? '☑ ' : '☐ ') : '';
    return html`<li class=${item.task ? 'task' : ''}>${mark}${item.tokens.map((one) => blockOf(one, headings))}</li>`;
  });
  return ordered
    ? html`<ol start=${start === '' ? 1 : start}>${entries}</ol>`
    : html`<ul>${entries}</ul>`;
}

function tableOf({ header, rows }) {
  const cell = (Tag, one) =>
    html`<${Tag} class=${one.align ? `align-${one.align}` : ''}>${inline(one.tokens)}<//>`;
  return html`
    <div class="scroll" tabindex="0" role="group" aria-label="table">
      <table>
        <thead><tr>${header.map((one) => cell('th', one))}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${row.map((one) => cell('td', one))}</tr>`)}</tbody>
      </table>
    </div>`;
}

function inline(tokens = []) {
  return tokens.map((token) => {
    switch (token.type) {
      case 'strong':
        return html`<strong>${inline(token.tokens)}</strong>`;
      case 'em':
        return html`<em>${inline(token.tokens)}</em>`;
      case 'del':
        return html`<del>${inline(token.tokens)}</del>`;
      case 'codespan':
        return html`<code>${token.text}</code>`;
      case 'br':
        return html`<br />`;
      case 'link':
        return linkOf(token);
      case 'image':
        return html`<span class="literal">image: ${token.text || 'without a description'} (${token.href})</span>`;
      case 'text':
        return token.tokens ? inline(token.tokens) : decoded(token.text);
      case 'escape':
        return token.text;
      case 'checkbox':
        return null;
      default:
        return token.raw;
    }
  });
}

function linkOf({ href, tokens }) {
  const words = inline(tokens);
  if (!/^(https?:\/\/|mailto:)/i.test(href))
    return html`<span class="literal" title=${href}>${words}</span>`;
  return html`<a href=${href} title=${href} target="_blank" rel="noopener noreferrer">${words}</a>`;
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function decoded(text = '') {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => entities[name]);
}
