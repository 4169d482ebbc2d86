import { counted, moment } from '../format.mjs';
import { html } from '../html.mjs';
import { Empty, Loading } from '../parts/empty.mjs';
import { useData } from '../parts/load.mjs';
import { Status } from '../parts/status.mjs';
import { allRows, watchRows } from '../store.mjs';

export function Workers() {
  watchRows();
  const stamp = JSON.stringify(
    allRows().filter(({ kind }) => kind === 'worker')
  );
  const { data, error } = useData('/web/workers', stamp);
  return html`
    <header class="top"><div><h1>Workers</h1><p class="summary">Long-lived agents with a queue of tasks.</p></div></header>
    ${data ? null : html`<${Loading} error=${error} />`}
    ${data?.workers.length === 0 ? html`<${Empty} title="There are no workers."><p>A client opens one with the tool <code>agent_create</code> (<code>--toolsets all</code>).</p><//>` : null}
    ${data?.workers.map((worker) => html`<${Worker} key=${worker.agent_id} worker=${worker} />`)}`;
}

function Worker({ worker }) {
  const { tasks, events } = worker;
  return html`
    <section class="worker" aria-labelledby=${worker.agent_id}>
      <div class="section-head">
        <h2 id=${worker.agent_id}>${worker.name}</h2>
        <${Status} of=${worker.status} />
        <span class="id">${worker.agent_id}</span>
        <span class="note">${worker.engine}, ${worker.access}, ${worker.backend === 'tmux' ? 'in a pane' : 'in the background'}</span>
      </div>
      <p class="role">${worker.role}</p>
      <div class="columns">
        <div>
          <h3>Tasks <span class="count">${tasks.length}</span></h3>
          ${tasks.length === 0 ? html`<p class="note">Its queue is empty.</p>` : html`<ul class="tasks">${tasks.map((task) => html`<li><code>${task.id}</code> ${task.is_running ? html`<${Status} of="running" />` : html`<span class="note">waiting</span>`}${task.is_cancel_wanted ? html` <span class="note">asked to give up</span>` : null}</li>`)}</ul>`}
        </div>
        <div>
          <h3>Reports <span class="count">${counted(events.length, 'event')}</span></h3>
          ${events.length === 0 ? html`<p class="note">It has reported nothing yet.</p>` : html`<ul class="events">${[...events].reverse().map((event) => html`<li key=${event.seq}><span class="num when" title=${moment(event.at)}>${moment(event.at).slice(11)}</span> <span class="type">${event.type}</span> ${event.task_id ? html`<code>${event.task_id}</code>` : null} <span class="words">${event.payload}</span></li>`)}</ul>`}
        </div>
      </div>
    </section>`;
}
