/** All tags of an HTML text, and every `<` or `&` that begins none of ours. */
export function tagsIn(page: string): { names: string[]; strange: string[] } {
  const text = page.replace(/<style>.*?<\/style>/s, '');
  const names: string[] = [];
  const strange: string[] = [];
  for (const { index } of text.matchAll(/[<>&]/g)) {
    const rest = text.slice(index, index + 2000);
    const before = text.slice(0, index);
    const isEnd = before.lastIndexOf('<') > before.lastIndexOf('>');
    const tag = ourTag.exec(rest);
    if (rest.startsWith('>') ? isEnd : /^&#\d+;/.test(rest)) continue;
    if (tag) names.push(tag[1] ?? 'doctype');
    else strange.push(rest.slice(0, 80));
  }
  return { names, strange };
}

/** Plain tags and attributes; values are quoted, and none runs anything. */
const ourTag = new RegExp(
  `^<(?:/?(${'html head meta title body header main footer section h1 h2 p span code pre div dl dt dd ul ol li details summary strong b i a time'
    .split(' ')
    .join(
      '|'
    )})(?: (?:lang|charset|http-equiv|content|name|id|class|aria-labelledby|datetime|href)="[^"<>]*"| open)*>|!doctype html>)`
);
