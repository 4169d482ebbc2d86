import { useEffect, useState } from 'preact/hooks';
import { clock, counted, dollars } from '../format.mjs';
import { html } from '../html.mjs';
import { Age, Ago, Quiet } from '../parts/age.mjs';
import { AskCard } from '../parts/ask-card.mjs';
import { Changes } from '../parts/changes.mjs';
import { cancelAgent } from '../parts/dialog.mjs';
import { Empty, Loading } from '../parts/empty.mjs';
import { Facts } from '../parts/facts.mjs';
import { useData } from '../parts/load.mjs';
import { LongText } from '../parts/long-text.mjs';
import { Raw } from '../parts/raw.mjs';
import { Reply, spawnAlike } from '../parts/reply.mjs';
import { Lines } from '../parts/rows.mjs';
import { Said } from '../parts/said.mjs';
import { Status } from '../parts/status.mjs';
import { copyId } from '../save.mjs';
import { mayAct } from '../session.mjs';
import { groups, isActive, rowOf } from '../store.mjs';

export function Agent({ id }) {
  const live = rowOf(`agent:${id}`)?.value;
  // Loaded again when it starts, asks or ends; what it says is streamed.
  const { data, error } = useData(`/web/agents/${id}`, live?.status);
  const row = live ?? data;
  useEffect(() => {
    document.title = row ? `${id} ${row.status} – troupe` : `${id} – troupe`;
  }, [id, row?.status]);
  if (!row)
    return error?.status === 404
      ? html`<${Back} /><${Empty} title=${error.message} isHeading=${true}><p>${error.hint}</p><//>`
      : html`<${Back} /><${Loading} error=${error} />`;
  const asks = groups.value.ask.filter(({ agent_id: of }) => of === id);
  return html`
    <${Back} />
    <${Head} row=${row} data=${data} />
    <div class="agent">
      <div class="main">
        ${asks.map((ask) => html`<${AskCard} key=${ask.id} id=${ask.id} hasLink=${false} />`)}
        <${Problem} row=${row} data=${data} />
        <${Prompt} id=${id} data=${data} task=${row.task} />
        <${Said} key=${`${id} ${isActive(row)}`} row=${row} />
        <${Changes} key=${`changes ${id}`} id=${id} row=${row} data=${data} />
        <${Reply} key=${`reply ${id}`} id=${id} row=${row} data=${data} />
        <${Raw} key=${`raw ${id}`} id=${id} data=${data} />
      </div>
      <${Facts} row=${row} data=${data} />
    </div>`;
}

function Back() {
  return html`<p class="back"><a href="/">← Now</a></p>`;
}

function Head({ row, data }) {
  const active = isActive(row);
  const cost = dollars(row.cost_usd);
  return html`
    <header class="top agent-head">
      <div>
        <h1>${row.task || '(no task)'}</h1>
        <p class="summary">
          <${Status} of=${row.status} />
          <span>${data?.label ?? row.agent_type}</span>
          <span class="id">${row.agent_id}</span>
          <span class="num"><${Age} row=${row} /></span>
          ${active ? html`<span class="quiet"><${Quiet} row=${row} /></span>` : html`<span><${Ago} at=${row.completed_at} /></span>`}
          ${cost === '' ? null : html`<span class="num">${cost}</span>`}
          ${row.lines_added === null ? null : html`<span class="num"><${Lines} row=${row} /></span>`}
        </p>
      </div>
      <div class="tools">
        <button class="button small" onClick=${() => copyId(row.agent_id)}>Copy id</button>
        ${data?.alike_refusal === null && mayAct() ? html`<button class="button small" onClick=${() => spawnAlike(data)}>Spawn alike…</button>` : null}
        ${
          active && mayAct()
            ? html`<button class="button small danger" onClick=${() => cancelAgent(row)}>Cancel…</button>`
            : null
        }
      </div>
    </header>`;
}

function Problem({ row, data }) {
  const error = data?.error;
  const denials = data?.denials ?? [];
  if (isActive(row) || (!error && denials.length === 0)) return null;
  return html`
    <section class=${`problem-box is-${row.status}`} aria-label="Error">
      ${error ? html`<p class="error-text">${error}</p>` : null}
      ${row.error_code ? html`<p class="note">Code <code>${row.error_code}</code>. docs/reference/errors.md says what helps.</p>` : null}
      ${denials.length > 0 ? html`<p class="note">${counted(denials.length, 'action')} denied:</p><ul class="denials">${denials.map((denial) => html`<li>${denial}</li>`)}</ul>` : null}
    </section>`;
}

/** A prompt of more characters is closed at first. */
const shortChars = 600;

function Prompt({ id, data, task }) {
  const [isOpen, setOpen] = useState(false);
  const chars = data?.prompt_chars ?? 0;
  const isShort = chars <= shortChars;
  return html`
    <section aria-labelledby="prompt">
      <h2 id="prompt">Prompt ${isShort ? null : html`<span class="count">${counted(chars, 'character')}</span>`}</h2>
      ${
        data && (isShort || isOpen)
          ? html`<${LongText} path=${`/web/agents/${id}/text?part=prompt`} class="prompt" />`
          : html`<div class="prompt"><p>${task}${isShort ? '' : ' …'}</p></div>`
      }
      ${isShort || isOpen || !data ? null : html`<button class="button small" onClick=${() => setOpen(true)}>Show all of it</button>`}
      ${data ? html`<p class="note">Asked at ${clock(data.created_at)}${data.client ? ` by ${data.client}` : ''}.</p>` : null}
    </section>`;
}
