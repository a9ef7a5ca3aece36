// The mapping of columns: a suggestion fills in the field beside it. Without script the button sends the form.

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-use]");
  if (!button) return;
  event.preventDefault();
  const input = document.getElementById(button.dataset.use);
  input.value = button.value;
  input.focus();
  button.remove();
  announce(`${input.labels[0].textContent}: ${input.value}`);
});
