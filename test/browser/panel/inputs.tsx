import {
  ArrayInputBase,
  SimpleFormIteratorBase,
  SimpleFormIteratorItemBase,
  useArrayInput,
  useGetList,
  useInput,
  useSimpleFormIteratorItem,
} from "ra-core";
import type { ReactNode } from "react";

/* Plain HTML inputs for react-admin's forms. */

interface Field {
  readonly source: string;
  readonly label: string;
}

const asItIs = (value: unknown) => value;

export function Text({ source, label, type = "text" }: Field & { readonly type?: "text" | "number" | "url" }) {
  const { id, field, fieldState } = useInput({ source, parse: type === "number" ? Number : asItIs });
  return (
    <p>
      <label htmlFor={id}>{label}</label>{" "}
      <input {...field} id={id} type={type} aria-invalid={fieldState.invalid} aria-describedby={`${id}-error`} />{" "}
      <span id={`${id}-error`} role="alert">
        {fieldState.error?.message}
      </span>
    </p>
  );
}

export function LongText({ source, label }: Field) {
  const { id, field } = useInput({ source, parse: asItIs });
  return (
    <p>
      <label htmlFor={id}>{label}</label> <textarea {...field} id={id} rows={4} cols={60} />
    </p>
  );
}

export function Checkbox({ source, label }: Field) {
  const { id, field } = useInput({ source, type: "checkbox", format: Boolean });
  const { value, ...rest } = field;
  return (
    <p>
      <input {...rest} id={id} type="checkbox" checked={value} /> <label htmlFor={id}>{label}</label>
    </p>
  );
}

export function Select({ source, label, choices }: Field & { readonly choices: Readonly<Record<string, string>> }) {
  const { id, field } = useInput({ source, parse: asItIs });
  return (
    <p>
      <label htmlFor={id}>{label}</label>{" "}
      <select {...field} id={id}>
        {Object.entries(choices).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </p>
  );
}

/** A checkbox for each record of a resource: the field is the list of those that are chosen. */
export function Choices({ source, label, resource }: Field & { readonly resource: string }) {
  const { field } = useInput({ source, format: (chosen) => chosen ?? [], parse: asItIs });
  const { data = [] } = useGetList(resource, { pagination: { page: 1, perPage: 500 } });
  const chosen: readonly { id: number }[] = field.value;
  return (
    <fieldset>
      <legend>{label}</legend>
      {data.map(({ id, name }) => (
        <label key={id}>
          <input
            type="checkbox"
            checked={chosen.some((record) => record.id === id)}
            onChange={({ target }) =>
              field.onChange(target.checked ? [...chosen, { id }] : chosen.filter((record) => record.id !== id))
            }
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

interface ElementsProps extends Field {
  /** What a new one is: an input without a value would show that of the record's element at this place. */
  readonly empty: Readonly<Record<string, string>>;
  /** The inputs of each. */
  readonly children: ReactNode;
}

/** The elements of a list. */
export function Elements({ source, label, empty, children }: ElementsProps) {
  return (
    <ArrayInputBase source={source}>
      <fieldset>
        <legend>{label}</legend>
        <SimpleFormIteratorBase>
          <Rows empty={empty}>{children}</Rows>
        </SimpleFormIteratorBase>
      </fieldset>
    </ArrayInputBase>
  );
}

function Rows({ empty, children }: Pick<ElementsProps, "empty" | "children">) {
  const { fields, append } = useArrayInput();
  return (
    <>
      <ol>
        {fields.map(({ id }, index) => (
          <SimpleFormIteratorItemBase key={id} index={index}>
            <li>
              {children}
              <RemoveElement />
            </li>
          </SimpleFormIteratorItemBase>
        ))}
      </ol>
      <button type="button" onClick={() => append(empty)}>
        Add
      </button>
    </>
  );
}

function RemoveElement() {
  const { remove } = useSimpleFormIteratorItem();
  return (
    <button type="button" onClick={() => remove()}>
      Remove
    </button>
  );
}
