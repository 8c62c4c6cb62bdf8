import { CanAccess, type FilterPayload, ListBase, type RaRecord, useListContext, useResourceContext } from "ra-core";
import { type ReactNode, useId } from "react";
import { Link } from "react-router";

interface Props {
  readonly title: string;
  /** What a row says beside the link to the record. */
  readonly row: (record: RaRecord) => ReactNode;
  readonly name: (record: RaRecord) => string;
  readonly filter?: FilterPayload;
  readonly filters?: ReactNode;
}

/** A list with search, order and pages. */
export function List({ title, row, name, filter = {}, filters }: Props) {
  return (
    <ListBase
      perPage={10}
      filterDefaultValues={filter}
      sort={{ field: "name", order: "ASC" }}
      disableSyncWithLocation={false}
    >
      <h1>{title}</h1>
      <CanAccess action="create">
        <AddLink />
      </CanAccess>
      <Search />
      {filters}
      <Order />
      <Rows row={row} name={name} />
      <Pages />
    </ListBase>
  );
}

function AddLink() {
  return <Link to={`/${useResourceContext()}/create`}>Add</Link>;
}

function Search() {
  const { filterValues, setFilters } = useListContext();
  return (
    <label>
      Search
      <input
        type="search"
        defaultValue={filterValues.search ?? ""}
        onChange={({ target }) => setFilters({ ...filterValues, search: target.value || undefined })}
      />
    </label>
  );
}

function Order() {
  const { sort, setSort } = useListContext();
  return (
    <button type="button" onClick={() => setSort({ field: sort.field, order: sort.order === "ASC" ? "DESC" : "ASC" })}>
      {sort.order === "ASC" ? "A to Z" : "Z to A"}
    </button>
  );
}

/** A choice of what the list shows. */
export function Filter({ source, label, choices }: { source: string; label: string; choices: Record<string, string> }) {
  const { filterValues, setFilters } = useListContext();
  const id = useId();
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={filterValues[source] ?? ""}
        onChange={({ target }) => setFilters({ ...filterValues, [source]: target.value || undefined })}
      >
        {Object.entries(choices).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
}

function Rows({ row, name }: Pick<Props, "row" | "name">) {
  const { data = [], error } = useListContext();
  const resource = useResourceContext();
  if (error) return <p role="alert">{error.message}</p>;
  return (
    <ul>
      {data.map((record) => (
        <li key={record.id}>
          <Link to={`/${resource}/${record.id}`}>{name(record)}</Link> {row(record)}{" "}
          <Link to={`/${resource}/${record.id}/show`}>Look</Link>
        </li>
      ))}
    </ul>
  );
}

function Pages() {
  const { page, perPage, total = 0, setPage } = useListContext();
  const last = Math.max(1, Math.ceil(total / perPage));
  return (
    <nav aria-label="Pages">
      <button type="button" disabled={page <= 1} onClick={() => setPage(page - 1)}>
        Previous
      </button>
      <span>
        Page {page} of {last}, {total} in all
      </span>
      <button type="button" disabled={page >= last} onClick={() => setPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}
